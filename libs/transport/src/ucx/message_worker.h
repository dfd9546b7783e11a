// ucx/message_worker.h: how a UCX worker that takes active messages is made, and its endpoints.
#pragma once
#include <ucp/api/ucp.h>

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "foundation/result.h"
#include "ucx/library.h"

namespace orchid::transport {

/// Who is called with the messages of that number.
struct MessageHandler {
  unsigned id = 0;
  ucp_am_recv_callback_t callback = nullptr;
  void* owner = nullptr;
};
/// For one thread at a time. `worker` is its owner's to destroy, also when a later step has failed.
/// Errors: `system`, `unsupported`.
[[nodiscard]] Result<void> open_message_worker(const UcxLibrary& ucx, ucp_context_h context,
                                               const MessageHandler& handler, ucp_worker_h& worker,
                                               int& wake_descriptor);
/// What UCX has granted. Errors: `system`.
[[nodiscard]] Result<ucs_thread_mode_t> thread_mode_of(const UcxLibrary& ucx, ucp_worker_h worker);
/// For the other end. Errors: `system`.
[[nodiscard]] Result<std::vector<std::byte>> address_of(const UcxLibrary& ucx, ucp_worker_h worker);

/// An endpoint at the worker with that address, whose loss `on_error` is told of. `step`: what is
/// done, in an error. Errors: `unreachable`.
[[nodiscard]] Result<void> connect_to(const UcxLibrary& ucx, ucp_worker_h worker,
                                      std::span<const std::byte> address,
                                      const ucp_err_handler_t& on_error, std::string_view step,
                                      ucp_ep_h& endpoint);

}  // namespace orchid::transport
