// hosts/executor_gate.h: where executors come in: hello and welcome, streams that survive broken
// connections, heartbeats (docs/PROTOCOL.md §2).
#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "foundation/metrics_text.h"
#include "foundation/owner_thread.h"
#include "foundation/unique_fd.h"
#include "hosts/executor_connection.h"
#include "hosts/executor_messages.h"
#include "hosts/host_book.h"
#include "protocol/control_messages.h"
#include "protocol/reliable_stream.h"
#include "tenants/peer_identity.h"

namespace orchid::gateway {

/// Who comes and goes; called on the control thread.
class ExecutorEvents {
 public:
  virtual ~ExecutorEvents() = default;
  /// It is there, with a stream that begins afresh: a new process, or one that we had forgotten.
  virtual void executor_joined(const ControlHello& hello, const PeerIdentity& identity) = 0;
  /// It is there again, and no message was lost.
  virtual void executor_resumed(const ExecutorId& id) = 0;
  virtual void executor_lost(const ExecutorId& id) = 0;
};

/// Owned by the control thread, whose io_context it is given. `events`, and `messages` to which it
/// delivers, outlive it.
class ExecutorGate {
 public:
  /// `gateway`: which one this is, also when it starts anew.
  ExecutorGate(boost::asio::io_context& control, std::string gateway, std::uint64_t epoch,
               ExecutorEvents& events, const ExecutorMessages& messages);
  ~ExecutorGate();
  ExecutorGate(const ExecutorGate&) = delete;
  ExecutorGate& operator=(const ExecutorGate&) = delete;

  /// Any thread: takes over a connection whose HTTP request asks for `GET /v1/executors/connect`
  /// and is authenticated. The socket belongs to no event loop.
  void accept(UniqueFd socket, UpgradeRequest request, PeerIdentity identity);

  /// Sent now or after the next reconnect; dropped when the executor is unknown.
  void send(const ExecutorId& id, ControlMessage message);
  /// Its process is gone: closes its connection and forgets its stream.
  void forget(const ExecutorId& id);
  /// Messages of executors that could not be read.
  [[nodiscard]] std::uint64_t unreadable() const { return unreadable_; }
  void add_metrics(MetricsText& text) const;
  /// Closes all connections, for the end of the process.
  void stop();

 private:
  struct Session {
    PeerIdentity identity;
    ReliableStream stream;
    std::shared_ptr<ExecutorConnection> connection;  // null while it is away
    unsigned unacknowledged = 0;  // numbered frames received since we last sent anything
    std::uint64_t unreadable = 0;
  };
  using ConnectionPtr =
      std::shared_ptr<ExecutorConnection>;  // shared with its asynchronous operations

  void take_over(UniqueFd descriptor, UpgradeRequest request, PeerIdentity identity);
  void first_frame(const ConnectionPtr& connection, const PeerIdentity& identity,
                   std::string_view text);
  void refuse(const ConnectionPtr& connection, ErrorCode code, std::string message);
  void welcome(const ConnectionPtr& connection, const PeerIdentity& identity,
               const ControlHello& hello);
  void arrived(const ConnectionPtr& connection, const ExecutorId& id, std::string_view text);
  void take_unreadable(const ConnectionPtr& connection, const ExecutorId& id, std::string_view text,
                       const Failure& why);
  /// False: it is not to be handled.
  [[nodiscard]] bool take(const ConnectionPtr& connection, Session& session, std::uint64_t sequence,
                          std::uint64_t ack);
  void lost(const ConnectionPtr& connection, const std::string& reason);
  void write(Session& session, const ControlFrame& frame);
  void tick();

  boost::asio::io_context& control_;
  std::string gateway_;
  std::uint64_t epoch_;
  ExecutorEvents& events_;
  const ExecutorMessages& messages_;
  OwnerThread owner_;
  boost::asio::steady_timer timer_;
  std::map<ExecutorId, Session> sessions_;
  std::map<ConnectionPtr, ExecutorId> connections_;  // all that are open; an empty id: no hello yet
  std::uint64_t unreadable_ = 0;
  bool stopped_ = false;
  std::shared_ptr<char> alive_ =
      std::make_shared<char>();  // its weak pointers tell posted work whether we are still here
};

}  // namespace orchid::gateway
