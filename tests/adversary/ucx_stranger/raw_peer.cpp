#include "raw_peer.h"

#include <chrono>
#include <stdexcept>

namespace orchid::tests {
namespace {

void need(ucs_status_t status) {
  if (status != UCS_OK) throw std::runtime_error(ucs_status_string(status));
}

}  // namespace

RawPeer::RawPeer() {
  ucp_config_t* config = nullptr;
  need(ucp_config_read(nullptr, nullptr, &config));
  need(ucp_config_modify(config, "TLS", "tcp"));
  need(ucp_config_modify(config, "NET_DEVICES", "lo"));
  need(ucp_config_modify(config, "PUT_ENABLE", "n"));  // TCP's own put is another test's
  ucp_params_t parameters{};
  parameters.field_mask = UCP_PARAM_FIELD_FEATURES;
  parameters.features = UCP_FEATURE_AM | UCP_FEATURE_RMA;
  need(ucp_init(&parameters, config, &context_));
  ucp_config_release(config);
  ucp_worker_params_t worker{};
  need(ucp_worker_create(context_, &worker, &worker_));
}

RawPeer::~RawPeer() {
  if (endpoint_ != nullptr) {
    ucp_request_param_t parameters{};
    parameters.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    parameters.flags = UCP_EP_CLOSE_FLAG_FORCE;
    finish(ucp_ep_close_nbx(endpoint_, &parameters), [] {});
  }
  if (own_memory_ != nullptr) ucp_mem_unmap(context_, own_memory_);
  ucp_worker_destroy(worker_);
  ucp_cleanup(context_);
}

std::vector<std::byte> RawPeer::address() const {
  ucp_address_t* address = nullptr;
  std::size_t size = 0;
  need(ucp_worker_get_address(worker_, &address, &size));
  const auto* bytes = reinterpret_cast<const std::byte*>(address);
  std::vector<std::byte> copy(bytes, bytes + size);
  ucp_worker_release_address(worker_, address);
  return copy;
}

void RawPeer::connect(std::span<const std::byte> victim) {
  ucp_ep_params_t parameters{};
  parameters.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                          UCP_EP_PARAM_FIELD_ERR_HANDLER;
  parameters.address = reinterpret_cast<const ucp_address_t*>(victim.data());
  parameters.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  parameters.err_handler.cb = [](void*, ucp_ep_h, ucs_status_t) {};
  need(ucp_ep_create(worker_, &parameters, &endpoint_));
}

void RawPeer::finish(ucs_status_ptr_t request, const std::function<void()>& victim) {
  if (!UCS_PTR_IS_PTR(request)) return;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (ucp_request_check_status(request) == UCS_INPROGRESS &&
         std::chrono::steady_clock::now() < end) {
    progress();
    victim();
  }
  ucp_request_free(request);
}

void RawPeer::send(const Message& message, const std::function<void()>& victim) {
  ucp_request_param_t parameters{};
  parameters.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  parameters.flags = message.flags;
  finish(ucp_am_send_nbx(endpoint_, message.id, message.header.data(), message.header.size(),
                         message.data.data(), message.data.size(), &parameters),
         victim);
}

ucp_rkey_h RawPeer::forged_key() {
  if (own_memory_ == nullptr) {
    ucp_mem_map_params_t map{};
    map.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH;
    map.address = own_.data();
    map.length = own_.size();
    need(ucp_mem_map(context_, &map, &own_memory_));
  }
  void* packed = nullptr;
  std::size_t size = 0;
  need(ucp_rkey_pack(context_, own_memory_, &packed, &size));
  ucp_rkey_h key = nullptr;
  const ucs_status_t status = ucp_ep_rkey_unpack(endpoint_, packed, &key);
  ucp_rkey_buffer_release(packed);
  need(status);
  return key;
}

void RawPeer::put(std::span<const std::byte> text, std::uint64_t address,
                  const std::function<void()>& victim) {
  ucp_rkey_h key = forged_key();
  const ucp_request_param_t parameters{};
  finish(ucp_put_nbx(endpoint_, text.data(), text.size(), address, key, &parameters), victim);
  finish(ucp_ep_flush_nbx(endpoint_, &parameters), victim);
  ucp_rkey_destroy(key);
}

void RawPeer::get(std::span<std::byte> room, std::uint64_t address,
                  const std::function<void()>& victim) {
  ucp_rkey_h key = forged_key();
  const ucp_request_param_t parameters{};
  finish(ucp_get_nbx(endpoint_, room.data(), room.size(), address, key, &parameters), victim);
  ucp_rkey_destroy(key);
}

}  // namespace orchid::tests
