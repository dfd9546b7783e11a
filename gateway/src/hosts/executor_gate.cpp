#include "hosts/executor_gate.h"

#include <sys/socket.h>

#include <bit>
#include <boost/asio/post.hpp>
#include <utility>
#include <vector>

#include "foundation/log.h"
#include "foundation/random.h"

namespace orchid::gateway {

using boost::asio::generic::stream_protocol;
using boost::system::error_code;

namespace {

constexpr std::chrono::milliseconds tick_interval{250};
constexpr unsigned acknowledge_after = 64;
constexpr std::size_t stream_id_bytes = 8;

}  // namespace

ExecutorGate::ExecutorGate(boost::asio::io_context& control, std::string gateway,
                           std::uint64_t epoch, ExecutorEvents& events,
                           const ExecutorMessages& messages)
    : control_(control),
      gateway_(std::move(gateway)),
      epoch_(epoch),
      events_(events),
      messages_(messages),
      timer_(control) {
  tick();
}

ExecutorGate::~ExecutorGate() { stop(); }

void ExecutorGate::accept(UniqueFd socket, UpgradeRequest request, PeerIdentity identity) {
  boost::asio::post(control_,
                    [this, socket = std::move(socket), request = std::move(request),
                     identity = std::move(identity), alive = std::weak_ptr(alive_)]() mutable {
                      if (!alive.expired() && !stopped_)
                        take_over(std::move(socket), std::move(request), std::move(identity));
                    });
}

void ExecutorGate::take_over(UniqueFd descriptor, UpgradeRequest request, PeerIdentity identity) {
  owner_.adopt();  // made by the main thread, before the control thread ran
  int family = 0;
  socklen_t size = sizeof(family);
  ::getsockopt(descriptor.get(), SOL_SOCKET, SO_DOMAIN, &family, &size);
  stream_protocol::socket socket(control_);
  error_code error;
  socket.assign(stream_protocol(family, 0), descriptor.get(), error);
  if (error) return log::warn("event=executor_connection_failed reason=\"{}\"", error.message());
  static_cast<void>(descriptor.release());
  auto connection = std::make_shared<ExecutorConnection>(control_, std::move(socket));
  connections_.emplace(connection, ExecutorId{});
  // The connection outlives its handlers, so a plain pointer in them is enough.
  ExecutorConnection* raw = connection.get();
  connection->start(std::move(request),
                    {.on_text =
                         [this, raw, identity = std::move(identity)](std::string_view text) {
                           const auto keep = raw->shared_from_this();
                           const auto found = connections_.find(keep);
                           if (found == connections_.end()) return;
                           const ExecutorId id = found->second;
                           if (id.value().empty())
                             first_frame(keep, identity, text);
                           else
                             arrived(keep, id, text);
                         },
                     .on_lost =
                         [this, raw, alive = std::weak_ptr(alive_)](const std::string& reason) {
                           if (!alive.expired()) lost(raw->shared_from_this(), reason);
                         }});
}

void ExecutorGate::first_frame(const ConnectionPtr& connection, const PeerIdentity& identity,
                               std::string_view text) {
  const auto frame = parse_control_frame(text);
  if (!frame) return refuse(connection, frame.error().code, frame.error().message);
  const auto* hello = std::get_if<ControlHello>(&frame->body);
  if (hello == nullptr || hello->executor.empty())
    return refuse(connection, ErrorCode::bad_request,
                  "an executor's first message must be a hello with its id");
  if (hello->oldest_protocol > control_protocol_version ||
      hello->newest_protocol < control_protocol_version)
    return refuse(connection, ErrorCode::unsupported,
                  "the gateway speaks version " + std::to_string(control_protocol_version) +
                      " of the control protocol; install the same release of Orchid on both sides");
  welcome(connection, identity, *hello);
}

void ExecutorGate::refuse(const ConnectionPtr& connection, ErrorCode code, std::string message) {
  log::warn("event=executor_refused code={} message=\"{}\"", to_string(code), message);
  connection->write({.body = ControlRefused{code, std::move(message)}});
  connections_.erase(connection);
  connection->finish();
}

void ExecutorGate::welcome(const ConnectionPtr& connection, const PeerIdentity& identity,
                           const ControlHello& hello) {
  const ExecutorId id(hello.executor);
  const auto known = sessions_.find(id);
  if (known != sessions_.end() && known->second.identity.tenant != identity.tenant)
    return refuse(connection, ErrorCode::denied, "this executor belongs to another user");
  const bool resumed = known != sessions_.end() && !hello.stream.empty() &&
                       known->second.stream.id() == hello.stream &&
                       known->second.stream.can_resume(hello.ack);
  Session& session = resumed ? known->second : sessions_[id];
  if (session.connection && session.connection != connection) {
    connections_.erase(session.connection);
    session.connection->drop();
  }
  if (!resumed) session.stream.restart("s-" + random_hex(stream_id_bytes));
  session.identity = identity;
  session.connection = connection;
  connections_[connection] = id;
  write(session, {.body = ControlWelcome{.epoch = epoch_,
                                         .stream = session.stream.id(),
                                         .ack = session.stream.received(),
                                         .resumed = resumed,
                                         .gateway = gateway_,
                                         .names_data = true,
                                         .finds_memory = true,
                                         .spares_data = true}});
  if (resumed) {
    for (const ControlFrame& frame : session.stream.resume(hello.ack)) write(session, frame);
    events_.executor_resumed(id);
  } else {
    events_.executor_joined(hello, identity);
  }
}

void ExecutorGate::arrived(const ConnectionPtr& connection, const ExecutorId& id,
                           std::string_view text) {
  const auto found = sessions_.find(id);
  if (found == sessions_.end() || found->second.connection != connection) return;
  Session& session = found->second;
  const auto frame = parse_control_frame(text);
  if (!frame) return take_unreadable(connection, id, text, frame.error());
  if (!take(connection, session, frame->sequence, frame->ack)) return;
  if (const auto* message = std::get_if<ControlMessage>(&frame->body))
    messages_.deliver(id, *message);
}

void ExecutorGate::take_unreadable(const ConnectionPtr& connection, const ExecutorId& id,
                                   std::string_view text, const Failure& why) {
  auto message = unreadable_message(text, why);
  if (!message) return refuse(connection, why.code, why.message);
  Session& session = sessions_.at(id);
  if (!take(connection, session, message->sequence, message->ack)) return;
  ++unreadable_;
  // Whoever wants to may send many of them.
  if (std::has_single_bit(++session.unreadable))
    log::error("event=unreadable_message from={} count={} reason=\"{}\"", id.value(),
               session.unreadable, why.message);
  if (message->refusal) send(id, std::move(*message->refusal));
}

bool ExecutorGate::take(const ConnectionPtr& connection, Session& session, std::uint64_t sequence,
                        std::uint64_t ack) {
  const auto arrival = session.stream.receive(sequence, ack);
  if (arrival == ReliableStream::Arrival::broken) {
    connection->drop();
    lost(connection, "it skipped a message");
  }
  if (arrival != ReliableStream::Arrival::fresh) return false;
  if (++session.unacknowledged >= acknowledge_after)
    write(session, {.ack = session.stream.received(), .body = ControlAck{}});
  return true;
}

void ExecutorGate::send(const ExecutorId& id, ControlMessage message) {
  owner_.assert_current();
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return;
  Session& session = found->second;
  auto frame = session.stream.add(std::move(message));
  if (frame) {
    if (session.connection) write(session, *frame);
    return;
  }
  // It has been away for too long: it begins afresh when it comes back.
  log::warn("event=executor_stream_dropped executor={} reason=\"{}\"", id.value(),
            frame.error().message);
  session.stream.restart("s-" + random_hex(stream_id_bytes));
  if (const ConnectionPtr connection = session.connection) {
    connection->drop();
    boost::asio::post(control_, [this, connection, alive = std::weak_ptr(alive_)] {
      if (!alive.expired()) lost(connection, "too many messages wait");
    });
  }
}

void ExecutorGate::forget(const ExecutorId& id) {
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return;
  if (const ConnectionPtr connection = found->second.connection) {
    connections_.erase(connection);
    connection->drop();
  }
  sessions_.erase(found);
}

void ExecutorGate::lost(const ConnectionPtr& connection, const std::string& reason) {
  const auto entry = connections_.find(connection);
  if (entry == connections_.end()) return;
  const ExecutorId id = entry->second;
  connections_.erase(entry);
  if (id.value().empty()) return;
  const auto found = sessions_.find(id);
  if (found == sessions_.end() || found->second.connection != connection) return;
  found->second.connection = nullptr;
  log::info("event=executor_disconnected executor={} reason=\"{}\"", id.value(), reason);
  events_.executor_lost(id);
}

void ExecutorGate::write(Session& session, const ControlFrame& frame) {
  session.unacknowledged = 0;
  if (session.connection) session.connection->write(frame);
}

void ExecutorGate::tick() {
  timer_.expires_after(tick_interval);
  timer_.async_wait([this, alive = std::weak_ptr(alive_)](error_code error) {
    if (error || alive.expired() || stopped_) return;
    const auto now = std::chrono::steady_clock::now();
    std::vector<ConnectionPtr> silent;
    for (const auto& [connection, id] : connections_) {
      if (connection->heartbeat().lost(now)) {
        silent.push_back(connection);
      } else if (!id.value().empty() && connection->heartbeat().ping_due(now)) {
        write(sessions_[id], {.ack = sessions_[id].stream.received(), .body = ControlPing{}});
      }
    }
    for (const ConnectionPtr& connection : silent) {
      connection->drop();
      lost(connection, "silent for 5 s");
    }
    tick();
  });
}

void ExecutorGate::add_metrics(MetricsText& text) const {
  text.counter("orchid_executor_messages_unreadable_total",
               "Messages of executors that could not be read: they are of another release.",
               unreadable_);
}

void ExecutorGate::stop() {
  if (std::exchange(stopped_, true)) return;
  timer_.cancel();
  for (const auto& [connection, id] : connections_) connection->drop();
  connections_.clear();
  sessions_.clear();
}

}  // namespace orchid::gateway
