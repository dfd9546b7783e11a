#include "ucx/message_worker.h"

#include <fcntl.h>

namespace orchid::transport {

Result<void> open_message_worker(const UcxLibrary& ucx, ucp_context_h context,
                                 const MessageHandler& handler, ucp_worker_h& worker,
                                 int& wake_descriptor) {
  ucp_worker_params_t parameters{};
  parameters.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  // One thread at a time: a client's end is driven by whoever waits for an answer.
  parameters.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  if (auto s = ucx.worker_create(context, &parameters, &worker); s != UCS_OK)
    return fail(ucx.failure(ErrorCode::system, "create", s));
  const auto granted = thread_mode_of(ucx, worker);
  if (!granted) return fail(granted.error());
  if (auto enough = check_thread_mode(parameters.thread_mode, *granted); !enough) return enough;
  ucp_am_handler_param_t handler_parameters{};
  handler_parameters.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                                  UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler_parameters.id = handler.id;
  handler_parameters.cb = handler.callback;
  handler_parameters.arg = handler.owner;
  if (auto s = ucx.worker_set_am_recv_handler(worker, &handler_parameters); s != UCS_OK)
    return fail(ucx.failure(ErrorCode::system, "set its handler", s));
  if (auto s = ucx.worker_get_efd(worker, &wake_descriptor); s != UCS_OK)
    return fail(ucx.failure(ErrorCode::unsupported, "its wake-up descriptor", s));
  ::fcntl(wake_descriptor, F_SETFD, FD_CLOEXEC);  // UCX leaves it to be inherited
  return {};
}

Result<ucs_thread_mode_t> thread_mode_of(const UcxLibrary& ucx, ucp_worker_h worker) {
  ucp_worker_attr_t attributes{};
  attributes.field_mask = UCP_WORKER_ATTR_FIELD_THREAD_MODE;
  if (auto s = ucx.worker_query(worker, &attributes); s != UCS_OK)
    return fail(ucx.failure(ErrorCode::system, "its thread mode", s));
  return attributes.thread_mode;
}

Result<std::vector<std::byte>> address_of(const UcxLibrary& ucx, ucp_worker_h worker) {
  ucp_address_t* address = nullptr;
  std::size_t size = 0;
  if (auto s = ucx.worker_get_address(worker, &address, &size); s != UCS_OK)
    return fail(ucx.failure(ErrorCode::system, "its address", s));
  const auto* bytes = reinterpret_cast<const std::byte*>(address);
  std::vector<std::byte> copy(bytes, bytes + size);
  ucx.worker_release_address(worker, address);
  return copy;
}

Result<void> connect_to(const UcxLibrary& ucx, ucp_worker_h worker,
                        std::span<const std::byte> address, const ucp_err_handler_t& on_error,
                        std::string_view step, ucp_ep_h& endpoint) {
  ucp_ep_params_t parameters{};
  parameters.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                          UCP_EP_PARAM_FIELD_ERR_HANDLER;
  parameters.address = reinterpret_cast<const ucp_address_t*>(address.data());
  parameters.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  parameters.err_handler = on_error;
  if (auto s = ucx.ep_create(worker, &parameters, &endpoint); s != UCS_OK)
    return fail(ucx.failure(ErrorCode::unreachable, step, s));
  return {};
}

}  // namespace orchid::transport
