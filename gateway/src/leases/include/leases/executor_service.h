// leases/executor_service.h: executors and the broker: who comes and goes and what they say, and
// what the broker has to say to them.
#pragma once
#include <boost/asio/io_context.hpp>
#include <functional>
#include <optional>
#include <string>

#include "hosts/executor_gate.h"
#include "leases/broker_loop.h"
#include "leases/lease_service.h"

namespace orchid::gateway {

/// Belongs to the control thread, whose io_context it is given.
class ExecutorService final : private ExecutorEvents, private ActionPerformer {
 public:
  struct Parts {
    boost::asio::io_context& control;
    BrokerLoop& loop;
    ExecutorMessages& messages;
    LeaseService& leases;  // of clients
    /// Called before the broker learns of it.
    std::function<void(const Executor&, const ControlHello&)> joined;
  };
  struct Options {
    std::uint64_t epoch = 1;
    std::optional<uid_t> owner = std::nullopt;  // whose gateway this is; nothing: everybody's
    std::string gateway{};                      // which one it is, also when it starts anew
  };
  ExecutorService(Parts parts, Options options);

  /// Where they connect.
  [[nodiscard]] ExecutorGate& gate() { return gate_; }
  /// Control thread: closes the connections. Executors keep running and dial again.
  void stop() { gate_.stop(); }

 private:
  void executor_joined(const ControlHello& hello, const PeerIdentity& identity) override;
  void executor_resumed(const ExecutorId& id) override;
  void executor_lost(const ExecutorId& id) override;
  template <typename... Messages>
  void pass_on();
  [[nodiscard]] bool perform(const BrokerAction& action) override;

  Parts parts_;
  std::optional<uid_t> owner_;
  ExecutorGate gate_;
};

}  // namespace orchid::gateway
