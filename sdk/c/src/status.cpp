#include <array>
#include <cstdlib>
#include <cstring>
#include <new>

#include "handles.h"

namespace orchid::c {
namespace {

// What went wrong last on a thread, and how it was shown, which points into it.
thread_local std::optional<Error> last_error;
thread_local orchid_failure shown;

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
    std::pair{ErrorKind::outcome_unknown, ORCHID_STATUS_OUTCOME_UNKNOWN},
    std::pair{ErrorKind::disk_full, ORCHID_STATUS_DISK_FULL},
    std::pair{ErrorKind::unsupported, ORCHID_STATUS_UNSUPPORTED},
    std::pair{ErrorKind::system, ORCHID_STATUS_SYSTEM},
    std::pair{ErrorKind::data_lost, ORCHID_STATUS_DATA_LOST},
    std::pair{ErrorKind::data_elsewhere, ORCHID_STATUS_DATA_ELSEWHERE},
    std::pair{ErrorKind::internal, ORCHID_STATUS_INTERNAL}};

orchid_status remember(Error error) {
  return status_of(last_error.emplace(std::move(error)).kind());
}

}  // namespace

orchid_status status_of(ErrorKind kind) {
  for (const auto& [known, status] : kinds)
    if (known == kind) return status;
  return ORCHID_STATUS_INTERNAL;
}

orchid_status caught() {
  try {
    throw;
  } catch (const Error& error) {
    return remember(error);
  } catch (const std::bad_alloc&) {
    return remember(Error({.kind = ErrorKind::system, .message = "out of memory"}));
  } catch (const std::exception& error) {
    return remember(Error({.kind = ErrorKind::internal, .message = error.what()}));
  }
}

Wait wait_of(std::uint32_t wait) {
  switch (wait) {
    case ORCHID_WAIT_HOT:
      return Wait::hot;
    case ORCHID_WAIT_BLOCKING:
      return Wait::blocking;
    default:
      return Wait::adaptive;
  }
}

orchid_status give(std::span<const std::byte> bytes, orchid_bytes* output) {
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

const char* orchid_last_error(void) {
  return orchid::c::last_error ? orchid::c::last_error->what() : "";
}

const orchid_failure* orchid_last_failure(void) {
  static const orchid::Error::Details none;
  const auto& error = orchid::c::last_error;
  const orchid::Error::Details& details = error ? error->details() : none;
  orchid::c::shown = {
      .status = error ? orchid::c::status_of(error->kind()) : ORCHID_STATUS_OK,
      .attempt = details.attempt,
      .retryable = details.retryable ? 1 : 0,
      .http_status = details.http_status,
      .message = details.message.c_str(),
      .hint = details.hint.c_str(),
      .outcome = details.outcome.c_str(),
      .function = details.function.c_str(),
      .invocation = details.invocation.c_str(),
      .node = details.node.c_str(),
      .log = details.log.c_str(),
  };
  return &orchid::c::shown;
}

void orchid_bytes_free(orchid_bytes* bytes) {
  if (bytes == nullptr) return;
  std::free(bytes->data);
  *bytes = {};
}
