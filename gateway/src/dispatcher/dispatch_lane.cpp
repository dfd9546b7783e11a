#include "dispatcher/dispatch_lane.h"

#include <algorithm>

#include "foundation/log.h"

namespace orchid::gateway {
namespace {

constexpr std::size_t lane_descriptor_count = 3;

}  // namespace

Result<std::unique_ptr<DispatchLane>> DispatchLane::open(boost::asio::io_context& io,
                                                         const Clock& clock, WorkerGrant grant,
                                                         LaneEvents& events) {
  auto socket = connect_packets_at_once(grant.lane_socket);
  if (!socket) return fail(std::move(socket.error()));
  std::unique_ptr<DispatchLane> lane(new DispatchLane(io, clock, std::move(grant), events));
  lane->socket_ = std::move(*socket);
  auto watch =
      ReadableWatch::create(io, lane->socket_.get(), [raw = lane.get()] { raw->read_socket(); });
  if (!watch) return fail(std::move(watch.error()));
  lane->socket_watch_ = std::move(*watch);
  lane->socket_watch_->arm();
  const std::string claim = encode(LaneClaim{.lease = lane->grant_.lease,
                                             .secret = lane->grant_.secret,
                                             .address = lane->grant_.lane_address});
  if (auto sent = send_packet(lane->socket_.get(), claim); !sent)
    return fail(std::move(sent.error()));
  return lane;
}

void DispatchLane::announce(std::uint64_t function,
                            std::shared_ptr<const FunctionVersion> version) {
  if (phase_ != LanePhase::ready || slot_of(function) != nullptr || is_loading(function)) return;
  send(LaneAnnounce{version->digest});
  loading_.push_back({function, std::move(version)});
}

void DispatchLane::cancel(std::uint64_t request) { send(LaneCancel{request}); }

void DispatchLane::replace(const std::string& reason) {
  detach(LanePhase::replacing);
  send(LaneReplace{reason});
}

void DispatchLane::detach(LanePhase next) {
  wake_watch_.reset();
  end_.reset();
  slots_.clear();
  loading_.clear();
  phase_ = next;
  since_ = clock_.now();
}

void DispatchLane::close() {
  detach(LanePhase::dead);
  socket_watch_.reset();
  socket_.reset();
}

bool DispatchLane::is_loading(std::uint64_t function) const {
  return std::ranges::find(loading_, function, &Loading::function) != loading_.end();
}

void DispatchLane::send(const LaneMessage& message, const std::vector<int>& descriptors) {
  if (!socket_) return;
  // A socket that is full or closed shows up as unreadable soon; nothing else is to be done here.
  if (auto sent = send_packet(socket_.get(), encode(message), descriptors); !sent)
    log::warn("event=lane_send_failed lease={} reason=\"{}\"", to_string(grant_.lease),
              sent.error().message);
}

void DispatchLane::read_socket() {
  hear();
  if (phase_ != LanePhase::dead) socket_watch_->arm();
}

void DispatchLane::hear() {
  while (phase_ != LanePhase::dead) {
    auto packet = receive_packet(socket_.get(), /*wait=*/false);
    if (!packet) return broken(packet.error());
    if (!*packet) break;
    handle(std::move(**packet));
  }
}

void DispatchLane::handle(Packet packet) {
  auto message = parse_lane_message(packet.text);
  if (!message) return broken(message.error());
  if (const auto* m = std::get_if<LaneClaimed>(&*message)) return claimed(*m, std::move(packet));
  if (const auto* m = std::get_if<LaneNeedCode>(&*message)) return need_code(*m);
  if (const auto* m = std::get_if<LaneEnded>(&*message))
    return events_.lane_worker_ended(*this, *m);
  if (const auto* m = std::get_if<LaneRefused>(&*message))
    return broken({m->code, "refused: " + m->message});
  if (const auto* m = std::get_if<LaneSlot>(&*message)) {
    const auto loading = take_loading(m->digest);
    if (!loading || phase_ != LanePhase::ready) return;
    slots_[loading->function] = {m->slot, m->generation};
    return events_.lane_loaded(*this, loading->function, *m);
  }
  if (const auto* m = std::get_if<LaneRejected>(&*message)) {
    if (const auto loading = take_loading(m->digest))
      events_.lane_rejected(*this, loading->function, *m);
    return;
  }
  broken({ErrorCode::bad_request, "the executor sent a message that only clients send"});
}

void DispatchLane::claimed(const LaneClaimed& message, Packet packet) {
  if (packet.descriptors.size() != lane_descriptor_count)
    return broken({ErrorCode::bad_request, "the executor sent a lane without its descriptors"});
  auto client = transport::LocalLaneClient::attach(
      {.memory = std::move(packet.descriptors[0]),
       .wake_worker = std::move(packet.descriptors[1]),
       .wake_client = std::move(packet.descriptors[2]),
       .geometry = {message.request_bytes, message.response_bytes}});
  if (!client) return broken(client.error());
  auto end = std::make_shared<LaneEnd>(std::move(*client));
  // The callback has nothing to do: the thread looks into its lanes after each round of the event
  // loop.
  auto watch = ReadableWatch::create(io_, end->client.wake_descriptor(), [] {});
  if (!watch) return broken(watch.error());
  detach(LanePhase::ready);
  end_ = std::move(end);
  wake_watch_ = std::move(*watch);
  events_.lane_claimed(*this);
}

void DispatchLane::need_code(const LaneNeedCode& message) {
  const auto found =
      std::ranges::find(loading_, message.digest,
                        [](const Loading& l) -> const std::string& { return l.version->digest; });
  if (found == loading_.end()) return;
  send(LaneCode{message.digest}, {found->version->module.get()});
}

std::optional<DispatchLane::Loading> DispatchLane::take_loading(const std::string& digest) {
  const auto found = std::ranges::find(
      loading_, digest, [](const Loading& l) -> const std::string& { return l.version->digest; });
  if (found == loading_.end()) return std::nullopt;
  Loading taken = std::move(*found);
  loading_.erase(found);
  return taken;
}

void DispatchLane::broken(const Failure& why) {
  if (phase_ != LanePhase::dead) events_.lane_broken(*this, why);
}

}  // namespace orchid::gateway
