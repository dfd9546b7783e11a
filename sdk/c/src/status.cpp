#include <array>
#include <cstdlib>
#include <cstring>
#include <new>

#include "handles.h"

namespace orchid::c {
namespace {

thread_local std::string last_error;

constexpr std::array kinds{
    std::pair{ErrorKind::bad_request, ORCHID_STATUS_BAD_REQUEST},
    std::pair{ErrorKind::bad_configuration, ORCHID_STATUS_BAD_CONFIGURATION},
    std::pair{ErrorKind::signature_mismatch, ORCHID_STATUS_SIGNATURE_MISMATCH},
    std::pair{ErrorKind::unauthenticated, ORCHID_STATUS_UNAUTHENTICATED},
    std::pair{ErrorKind::denied, ORCHID_STATUS_DENIED},
    std::pair{ErrorKind::not_found, ORCHID_STATUS_NOT_FOUND},
    std::pair{ErrorKind::conflict, ORCHID_STATUS_CONFLICT},
    std::pair{ErrorKind::too_large, ORCHID_STATUS_TOO_LARGE},
    std::pair{ErrorKind::module_rejected, ORCHID_STATUS_MODULE_REJECTED},
    std::pair{ErrorKind::quota, ORCHID_STATUS_QUOTA},
    std::pair{ErrorKind::function_error, ORCHID_STATUS_FUNCTION_ERROR},
    std::pair{ErrorKind::function_crashed, ORCHID_STATUS_FUNCTION_CRASHED},
    std::pair{ErrorKind::function_exited, ORCHID_STATUS_FUNCTION_EXITED},
    std::pair{ErrorKind::limit_exceeded, ORCHID_STATUS_LIMIT_EXCEEDED},
    std::pair{ErrorKind::deadline_exceeded, ORCHID_STATUS_DEADLINE_EXCEEDED},
    std::pair{ErrorKind::cancelled, ORCHID_STATUS_CANCELLED},
    std::pair{ErrorKind::evicted, ORCHID_STATUS_EVICTED},
    std::pair{ErrorKind::worker_lost, ORCHID_STATUS_WORKER_LOST},
    std::pair{ErrorKind::no_capacity, ORCHID_STATUS_NO_CAPACITY},
    std::pair{ErrorKind::lease_ended, ORCHID_STATUS_LEASE_ENDED},
    std::pair{ErrorKind::unreachable, ORCHID_STATUS_UNREACHABLE},
    std::pair{ErrorKind::timed_out, ORCHID_STATUS_TIMED_OUT},
    std::pair{ErrorKind::disk_full, ORCHID_STATUS_DISK_FULL},
    std::pair{ErrorKind::unsupported, ORCHID_STATUS_UNSUPPORTED},
    std::pair{ErrorKind::system, ORCHID_STATUS_SYSTEM},
    std::pair{ErrorKind::internal, ORCHID_STATUS_INTERNAL}};

}  // namespace

void remember(std::string message) { last_error = std::move(message); }

orchid_status status_of(ErrorKind kind) {
  for (const auto& [known, status] : kinds)
    if (known == kind) return status;
  return ORCHID_STATUS_INTERNAL;
}

orchid_status caught() {
  try {
    throw;
  } catch (const Error& error) {
    remember(error.what());
    return status_of(error.kind());
  } catch (const std::bad_alloc&) {
    remember("out of memory");
    return ORCHID_STATUS_SYSTEM;
  } catch (const std::exception& error) {
    remember(error.what());
    return ORCHID_STATUS_INTERNAL;
  }
}

orchid_status give(const std::vector<std::byte>& bytes, orchid_bytes* output) {
  output->size = bytes.size();
  output->data = std::malloc(bytes.empty() ? 1 : bytes.size());
  if (output->data == nullptr) throw std::bad_alloc();
  if (!bytes.empty()) std::memcpy(output->data, bytes.data(), bytes.size());
  return ORCHID_STATUS_OK;
}

}  // namespace orchid::c

const char* orchid_status_name(orchid_status status) {
  if (status == ORCHID_STATUS_OK) return "ok";
  for (const auto& [kind, known] : orchid::c::kinds)
    if (known == status) return orchid::to_string(kind).data();  // a literal
  return "internal";
}

const char* orchid_last_error(void) { return orchid::c::last_error.c_str(); }

void orchid_bytes_free(orchid_bytes* bytes) {
  if (bytes == nullptr) return;
  std::free(bytes->data);
  *bytes = {};
}
