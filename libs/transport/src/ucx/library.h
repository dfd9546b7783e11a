// ucx/library.h: libucp, opened at run time, so that programs which never talk to another host do
// not need it.
#pragma once
#include <ucp/api/ucp.h>

#include "foundation/result.h"

namespace orchid::transport {

/// The functions of libucp and libucs that we call. Immutable once loaded; any thread.
struct UcxLibrary {
  decltype(&ucp_config_read) config_read;
  decltype(&ucp_config_modify) config_modify;
  decltype(&ucp_config_release) config_release;
  decltype(&ucp_init_version) init_version;
  decltype(&ucp_context_query) context_query;
  decltype(&ucp_cleanup) cleanup;
  decltype(&ucp_worker_create) worker_create;
  decltype(&ucp_worker_destroy) worker_destroy;
  decltype(&ucp_worker_query) worker_query;
  decltype(&ucp_worker_progress) worker_progress;
  decltype(&ucp_worker_get_address) worker_get_address;
  decltype(&ucp_worker_release_address) worker_release_address;
  decltype(&ucp_worker_get_efd) worker_get_efd;
  decltype(&ucp_worker_arm) worker_arm;
  decltype(&ucp_worker_set_am_recv_handler) worker_set_am_recv_handler;
  decltype(&ucp_ep_create) ep_create;
  decltype(&ucp_ep_close_nbx) ep_close_nbx;
  decltype(&ucp_ep_flush_nbx) ep_flush_nbx;
  decltype(&ucp_am_send_nbx) am_send_nbx;
  decltype(&ucp_am_recv_data_nbx) am_recv_data_nbx;
  decltype(&ucp_request_check_status) request_check_status;
  decltype(&ucp_request_free) request_free;
  decltype(&ucs_status_string) status_string;

  /// Opens the library at the first call; it stays. Errors: `unsupported`.
  [[nodiscard]] static Result<const UcxLibrary*> load();
  [[nodiscard]] Failure failure(ErrorCode code, std::string_view step, ucs_status_t status) const;
};

/// A UCX that was built without threads makes what it is asked for all the same, and says only when
/// asked that fewer threads may use it. Errors: `unsupported`, when `granted` is less.
[[nodiscard]] Result<void> check_thread_mode(ucs_thread_mode_t asked, ucs_thread_mode_t granted);

}  // namespace orchid::transport
