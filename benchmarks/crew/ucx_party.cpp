#include "crew/ucx_party.h"

#include <sched.h>

#include <cstring>
#include <utility>

#include "foundation/tcp.h"
#include "ucx/doors.h"

namespace orchid::bench {
namespace {

constexpr unsigned ready_id = 0;

std::unexpected<Failure> ucx_problem(const char* step, ucs_status_t status) {
  return fail(ErrorCode::system, std::string(step) + ": " + ucs_status_string(status));
}

struct UcxSetting {
  const char* name;
  const char* value;
};
/// The kernel asks an idle peer whether it is there, but waits for ever for one that owes it an
/// answer, unless it is told otherwise.
Result<void> end_silent_connections() {
  const auto sockets = transport::tcp_sockets();
  if (!sockets) return fail(sockets.error());
  for (const transport::TcpSocket& socket : *sockets)
    if (!socket.listens) end_when_silent(socket.fd);
  return {};
}

/// As libs/transport/src/ucx/context.cpp has them.
constexpr UcxSetting lane_settings[] = {
    {"KEEPALIVE_INTERVAL", "1s"}, {"PROTO_INDIRECT_ID", "on"}, {"MAX_EAGER_RAILS", "1"},
    {"MAX_RNDV_RAILS", "1"},      {"PUT_ENABLE", "n"},         {"KEEPIDLE", "1s"},
    {"KEEPINTVL", "1s"},          {"ALLOC", "heap"},           {"ALLOC_PRIO", "heap"},
    {"ADAPTIVE_PROGRESS", "n"},
};

}  // namespace

Result<std::unique_ptr<UcxParty>> UcxParty::open(const Options& options) {
  std::unique_ptr<UcxParty> party(new UcxParty);
  if (auto started = party->start(options); !started) return fail(std::move(started.error()));
  return party;
}

Result<void> UcxParty::start(const Options& options) {
  as_lanes_ = options.as_lanes;
  ucp_config_t* config = nullptr;
  if (auto s = ucp_config_read(nullptr, nullptr, &config); s != UCS_OK)
    return ucx_problem("ucp_config_read", s);
  ucp_config_modify(config, "TLS", options.transports.c_str());
  if (!options.devices.empty()) ucp_config_modify(config, "NET_DEVICES", options.devices.c_str());
  if (as_lanes_)
    for (const UcxSetting& setting : lane_settings)
      ucp_config_modify(config, setting.name, setting.value);
  ucp_params_t parameters{};
  parameters.field_mask = UCP_PARAM_FIELD_FEATURES;
  parameters.features = UCP_FEATURE_AM;
  if (options.wakes) parameters.features |= UCP_FEATURE_WAKEUP;
  if (options.remote_memory) parameters.features |= UCP_FEATURE_RMA;
  const auto status = ucp_init(&parameters, config, &context_);
  ucp_config_release(config);
  if (status != UCS_OK) return ucx_problem("ucp_init", status);
  ucp_worker_params_t worker{};
  worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  worker.thread_mode = UCS_THREAD_MODE_SINGLE;
  if (auto s = ucp_worker_create(context_, &worker, &worker_); s != UCS_OK)
    return ucx_problem("ucp_worker_create", s);
  if (options.wakes)
    if (auto s = ucp_worker_get_efd(worker_, &wake_descriptor_); s != UCS_OK)
      return ucx_problem("ucp_worker_get_efd", s);
  handle(ready_id, on_ready, this);
  return {};
}

UcxParty::~UcxParty() {
  if (worker_ != nullptr) ucp_worker_destroy(worker_);
  if (context_ != nullptr) ucp_cleanup(context_);
}

std::vector<std::byte> UcxParty::address() const {
  ucp_address_t* address = nullptr;
  std::size_t size = 0;
  if (ucp_worker_get_address(worker_, &address, &size) != UCS_OK) return {};
  const auto* bytes = reinterpret_cast<const std::byte*>(address);
  std::vector<std::byte> copy(bytes, bytes + size);
  ucp_worker_release_address(worker_, address);
  return copy;
}

void UcxParty::handle(unsigned id, ucp_am_recv_callback_t callback, void* argument) {
  ucp_am_handler_param_t handler{};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                       UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler.id = id;
  handler.cb = callback;
  handler.arg = argument;
  if (auto s = ucp_worker_set_am_recv_handler(worker_, &handler); s != UCS_OK)
    fail_with("set a handler", s);
}

Result<void> UcxParty::connect(unsigned peer, std::span<const std::byte> address) {
  Peer& one = peers_[peer];
  one.party = this;
  ucp_ep_params_t parameters{};
  parameters.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
  parameters.address = reinterpret_cast<const ucp_address_t*>(address.data());
  if (as_lanes_) {
    parameters.field_mask |= UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
    parameters.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    parameters.err_handler = {.cb = on_error, .arg = &one};
  }
  if (auto s = ucp_ep_create(worker_, &parameters, &one.endpoint); s != UCS_OK)
    return ucx_problem("ucp_ep_create", s);
  return {};
}

ucs_status_t UcxParty::on_ready(void* self, const void*, std::size_t, void* data,
                                std::size_t length, const ucp_am_recv_param_t*) {
  auto& party = *static_cast<UcxParty*>(self);
  std::uint32_t from = most_processes;
  if (length == sizeof(from)) std::memcpy(&from, data, sizeof(from));
  if (from < most_processes && !std::exchange(party.peers_[from].ready, true)) ++party.ready_peers_;
  return UCS_OK;
}

void UcxParty::on_error(void* peer, ucp_ep_h /*endpoint*/, ucs_status_t status) {
  auto& one = *static_cast<Peer*>(peer);
  one.lost = true;
  one.party->fail_with("a peer was lost", status);
}

void UcxParty::connect_back(const Board& board, unsigned self) {
  for (unsigned peer = 0; peer < self; ++peer) {
    Peer& one = peers_[peer];
    if (!one.ready || one.endpoint != nullptr) continue;
    if (auto address = board.of(peer); !address || !connect(peer, *address))
      fail_with("connect back", UCS_ERR_UNREACHABLE);
    else
      say_ready(peer);
  }
}

Result<void> UcxParty::wire(Board& board, unsigned self, unsigned count) {
  own_number_ = self;
  for (unsigned peer = self + 1; peer < count; ++peer) {
    auto address = board.of(peer);
    if (!address) return fail(std::move(address.error()));
    if (auto connected = connect(peer, *address); !connected) return connected;
    say_ready(peer);
  }
  const auto end = std::chrono::steady_clock::now() + Board::patience;
  bool counted = false;
  // Others may need this worker until they are complete too.
  while (!failure_ && (!counted || board.complete() < count)) {
    if (!progress()) ::sched_yield();
    connect_back(board, self);
    if (!counted && ready_peers_ + 1 == count && sending_ == 0) {
      counted = true;
      board.add_complete();
    }
    if (std::chrono::steady_clock::now() > end)
      return fail(ErrorCode::timed_out, "a crew was not wired in time");
  }
  if (failure_) return fail(ErrorCode::unreachable, *failure_);
  return as_lanes_ ? end_silent_connections() : Result<void>{};
}

UcxParty::Slot* UcxParty::take_slot() {
  if (free_list_ == nullptr) {
    free_list_ = &slots_.emplace_back();
    free_list_->party = this;
  }
  Slot* slot = free_list_;
  free_list_ = slot->next_free;
  return slot;
}

void UcxParty::free_slot(Slot* slot) { slot->next_free = std::exchange(free_list_, slot); }

void UcxParty::on_sent(void* request, ucs_status_t status, void* slot) {
  UcxParty& party = *static_cast<Slot*>(slot)->party;
  --party.sending_;
  if (status != UCS_OK) party.fail_with("active message", status);
  party.free_slot(static_cast<Slot*>(slot));
  ucp_request_free(request);
}

void UcxParty::send(unsigned peer, unsigned id, Slot* slot, std::size_t size) {
  ucp_request_param_t parameters{};
  parameters.op_attr_mask =
      UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  parameters.flags = UCP_AM_SEND_FLAG_EAGER;
  parameters.cb.send = on_sent;
  parameters.user_data = slot;
  const ucs_status_ptr_t request =
      ucp_am_send_nbx(peers_[peer].endpoint, id, nullptr, 0, slot->bytes.data(), size, &parameters);
  if (UCS_PTR_IS_PTR(request)) {
    ++sending_;
    return;
  }
  free_slot(slot);
  if (UCS_PTR_IS_ERR(request)) fail_with("active message", UCS_PTR_STATUS(request));
}

void UcxParty::say_ready(unsigned peer) {
  Slot* slot = take_slot();
  std::memcpy(slot->bytes.data(), &own_number_, sizeof(own_number_));
  send(peer, ready_id, slot, sizeof(own_number_));
}

void UcxParty::fail_with(const char* step, ucs_status_t status) {
  if (!failure_) failure_ = std::string(step) + ": " + ucs_status_string(status);
}

}  // namespace orchid::bench
