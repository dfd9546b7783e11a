#include "dispatcher/dispatch_lane.h"

#include <utility>
#include <variant>

#include "dispatcher/dispatch_place.h"
#include "foundation/log.h"
#include "lane_client/call_with_data.h"
#include "lane_client/executor_message.h"
#include "lane_client/open_lane.h"
#include "protocol/lane_protocol.h"

namespace orchid::gateway {

Result<std::unique_ptr<DispatchLane>> DispatchLane::open(boost::asio::io_context& io,
                                                         const Clock& clock, DispatchPlace& place,
                                                         LaneEvents& events) {
  const WorkerGrant& grant = place.grant();
  auto socket = lane_client::claim_here(
      grant.lane_socket, {.lease = grant.lease,
                          .secret = grant.secret,
                          .protocol = place.is_apart() ? apart_lane_protocol : shared_lane_protocol,
                          .address = grant.lane_address,
                          .knows_compiling = true});
  if (!socket) return fail(std::move(socket.error()));
  std::unique_ptr<DispatchLane> lane(new DispatchLane(io, clock, place, events));
  lane->socket_ = std::move(*socket);
  auto watch =
      ReadableWatch::create(io, lane->socket_.get(), [raw = lane.get()] { raw->read_socket(); });
  if (!watch) return fail(std::move(watch.error()));
  lane->socket_watch_ = std::move(*watch);
  lane->socket_watch_->arm();
  return lane;
}

const WorkerGrant& DispatchLane::grant() const { return place_.grant(); }

bool DispatchLane::announce(std::uint64_t function, std::shared_ptr<const FunctionVersion> version,
                            std::optional<std::chrono::milliseconds> time_left) {
  if (place_.is_apart()) module = function;
  if (!conversation_.is_ready() || !codes_.announce(function, version)) return false;
  send(LaneAnnounce{version->digest, time_left});
  return true;
}

bool DispatchLane::attach(const CallData* data) {
  if (data == nullptr || !conversation_.is_ready()) return false;
  auto unknown = attached_.ask(data->ids, clock_.now());
  if (unknown.empty()) return false;
  if (!send(LaneAttach{std::move(unknown)}))
    unsent_ = "its executor does not take what its worker is to be given";
  return true;
}

void DispatchLane::detach_unused(MonotonicTime before) {
  for (LaneDetach& detach : lane_client::detach_messages(attached_.take_unused(before)))
    send(std::move(detach));
}

void DispatchLane::cancel_unwanted() {
  if (const std::uint64_t request = flights.take_cancel()) send(LaneCancel{request});
}

void DispatchLane::replace(const std::string& reason) {
  if (conversation_.give_up(reason, clock_.now()) != lane_client::Step::replace) return;
  detach();
  send(LaneReplace{.reason = reason, .worker = worker_});
}

std::shared_ptr<LaneEnd> DispatchLane::detach() {
  wake_watch_.reset();
  codes_.clear();
  attached_.clear();
  return std::exchange(end_, nullptr);
}

void DispatchLane::close() {
  conversation_.die();
  detach();
  socket_watch_.reset();
  socket_.reset();
}

bool DispatchLane::send(const LaneMessage& message, const std::vector<int>& descriptors) {
  if (!socket_) return false;
  // A socket that is closed shows up as unreadable soon.
  auto sent = send_packet(socket_.get(), encode(message), descriptors);
  if (!sent)
    log::warn("event=lane_send_failed lease={} reason=\"{}\"", to_string(grant().lease),
              sent.error().message);
  return sent.has_value();
}

void DispatchLane::read_socket() {
  hear();
  if (phase() != LanePhase::dead) socket_watch_->arm();
}

void DispatchLane::hear() {
  while (phase() != LanePhase::dead) {
    auto packet = receive_packet(socket_.get(), /*wait=*/false);
    if (!packet) return broken(packet.error());
    if (!*packet) break;
    auto message = lane_client::parse_executor_message((*packet)->text);
    if (!message) return broken(message.error());
    std::visit([&](const auto& said) { hear(said, (*packet)->descriptors); }, *message);
  }
}

void DispatchLane::hear(const LaneClaimed& message, Files& files) {
  auto client = lane_client::attach(message, std::move(files));
  if (!client) return broken(client.error());
  auto end = std::make_shared<LaneEnd>(std::move(*client));
  // The callback has nothing to do: the thread looks into its lanes after each round of the event
  // loop.
  auto watch = ReadableWatch::create(io_, end->client.wake_descriptor(), [] {});
  if (!watch) return broken(watch.error());
  detach();
  end_ = std::move(end);
  wake_watch_ = std::move(*watch);
  worker_ = message.worker;
  conversation_.opened();
  events_.lane_claimed(*this);
}

void DispatchLane::hear(const LaneRefused& message, Files& /*files*/) {
  broken({message.code, "refused: " + message.message});
}

void DispatchLane::hear(const LaneNeedCode& message, Files& /*files*/) {
  if (const auto* code = codes_.needs(message.digest))
    send(LaneCode{message.digest}, {code->module->module.get()});
}

void DispatchLane::hear(const LaneCompiling& message, Files& /*files*/) {
  auto* code = codes_.find_loading(message.digest);
  if (code == nullptr) return;
  if (message.over)
    code->compiling_since.reset();
  else if (!code->compiling_since)
    code->compiling_since = clock_.now();
}

void DispatchLane::hear(const LaneSlot& message, Files& /*files*/) {
  if (const auto loaded = codes_.loaded(message))
    events_.lane_loaded(*this, loaded->number, message);
}

void DispatchLane::hear(const LaneRejected& message, Files& /*files*/) {
  if (const auto rejected = codes_.rejected(message.digest))
    events_.lane_rejected(*this, rejected->number, message);
}

void DispatchLane::hear(const LaneAttached& message, Files& /*files*/) {
  if (attached_.attached(message.data) && !attached_.is_waiting()) events_.lane_attached(*this);
}

void DispatchLane::hear(const LaneNotAttached& message, Files& /*files*/) {
  if (attached_.not_attached(message.data)) events_.lane_not_attached(*this, message);
}

void DispatchLane::hear(const LaneEnded& message, Files& /*files*/) {
  if (!end_) return;  // we had given it up before
  conversation_.ended(clock_.now(), message.replaced_in);
  events_.lane_worker_ended(*this, detach(), message);
}

void DispatchLane::broken(const Failure& why) {
  if (phase() != LanePhase::dead) events_.lane_broken(*this, why);
}

}  // namespace orchid::gateway
