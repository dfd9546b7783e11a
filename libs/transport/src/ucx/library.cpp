#include "ucx/library.h"

#include <dlfcn.h>
#include <ucs/config/global_opts.h>

#include <cstdlib>
#include <string>

#include "transport/ucx_lane.h"
#include "ucx/kept_signal_handlers.h"

namespace orchid::transport {
namespace {

constexpr const char* library_name = "libucp.so.0";

/// UCX prints what it finds wrong, such as a peer that has died, to standard output, which is the
/// program's own; what it means for a lane is a failure of ours. Who wants its words sets
/// UCX_LOG_LEVEL.
void keep_silent(void* library) {
  if (std::getenv("UCX_LOG_LEVEL") != nullptr) return;
  if (auto* set = reinterpret_cast<decltype(&ucs_global_opts_set_value)>(
          ::dlsym(library, "ucs_global_opts_set_value")))
    (void)set("LOG_LEVEL", "fatal");
}

/// With RTLD_NOLOAD first: an MPI of the same process may have it, and then nothing is set up
/// again.
void* open_library() {
  if (void* loaded = ::dlopen(library_name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD); loaded != nullptr)
    return loaded;
  const KeptSignalHandlers kept;
  void* loaded = ::dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
  if (loaded != nullptr) keep_silent(loaded);
  return loaded;
}

Result<UcxLibrary> open_ucp() {
  void* handle = open_library();
  if (handle == nullptr) {
    const char* why = ::dlerror();
    return fail(ErrorCode::unsupported,
                "calls to another host need UCX; install the Debian package libucx0 (" +
                    std::string(why != nullptr ? why : library_name) + ")");
  }
  UcxLibrary library{};
  std::string missing;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, name));
    if (function == nullptr) missing = name;
  };
  find(library.config_read, "ucp_config_read");
  find(library.config_modify, "ucp_config_modify");
  find(library.config_release, "ucp_config_release");
  find(library.init_version, "ucp_init_version");
  find(library.context_query, "ucp_context_query");
  find(library.cleanup, "ucp_cleanup");
  find(library.worker_create, "ucp_worker_create");
  find(library.worker_destroy, "ucp_worker_destroy");
  find(library.worker_query, "ucp_worker_query");
  find(library.worker_progress, "ucp_worker_progress");
  find(library.worker_get_address, "ucp_worker_get_address");
  find(library.worker_release_address, "ucp_worker_release_address");
  find(library.worker_get_efd, "ucp_worker_get_efd");
  find(library.worker_arm, "ucp_worker_arm");
  find(library.worker_set_am_recv_handler, "ucp_worker_set_am_recv_handler");
  find(library.ep_create, "ucp_ep_create");
  find(library.ep_close_nbx, "ucp_ep_close_nbx");
  find(library.ep_flush_nbx, "ucp_ep_flush_nbx");
  find(library.am_send_nbx, "ucp_am_send_nbx");
  find(library.am_recv_data_nbx, "ucp_am_recv_data_nbx");
  find(library.request_check_status, "ucp_request_check_status");
  find(library.request_free, "ucp_request_free");
  find(library.status_string, "ucs_status_string");
  if (!missing.empty())
    return fail(ErrorCode::unsupported,
                "this UCX has no " + missing + "; Orchid needs 1.13 or newer (libucx0)");
  return library;
}

}  // namespace

Result<const UcxLibrary*> UcxLibrary::load() {
  static const Result<UcxLibrary> library = open_ucp();
  if (!library) return fail(library.error());
  return &*library;
}

Failure UcxLibrary::failure(ErrorCode code, std::string_view step, ucs_status_t status) const {
  return {code, std::string(step) + ": " + status_string(status)};
}

Result<void> check_thread_mode(ucs_thread_mode_t asked, ucs_thread_mode_t granted) {
  if (granted >= asked) return {};
  const auto words = [](ucs_thread_mode_t mode) {
    return mode == UCS_THREAD_MODE_SINGLE       ? "one thread"
           : mode == UCS_THREAD_MODE_SERIALIZED ? "one thread at a time"
                                                : "several threads";
  };
  return fail(ErrorCode::unsupported,
              std::string("this UCX lets ") + words(granted) + " use it, and a lane needs " +
                  words(asked) +
                  ": install one that is built with --enable-mt, as the Debian package libucx0 is");
}

Result<void> load_ucx() {
  if (auto library = UcxLibrary::load(); !library) return fail(std::move(library.error()));
  return {};
}

}  // namespace orchid::transport
