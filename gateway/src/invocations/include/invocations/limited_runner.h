// invocations/limited_runner.h: holds calls back whose function has as many running as it may.
#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>

#include "calls/call.h"
#include "foundation/clock.h"
#include "foundation/task.h"
#include "invocations/forwarding_runner.h"

namespace orchid::gateway {

/// Stands before the runner of one HTTP thread, and is owned by that thread, as the runner is.
/// Calls of functions without a limit, and calls that have their place already, go straight on.
class LimitedRunner final : public ForwardingRunner {
 public:
  /// All outlive it; `here` posts to its thread.
  LimitedRunner(CallRunner& runner, const Clock& clock, Poster here)
      : ForwardingRunner(runner), clock_(clock), here_(std::move(here)) {}

  void start(Call call, CallDone done) override;
  void cancel(const std::string& invocation) override;

  /// Ends those whose deadline has passed. To be called several times a second.
  void sweep();
  /// Ends all that wait with `cancelled`; nothing waits from then on.
  void stop();
  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }

 private:
  struct Waiting {
    Call call;
    CallDone done;
    std::uint64_t ticket = 0;
  };
  void admitted(const std::string& invocation, ConcurrencyGate::Place place);
  void end(const std::string& invocation, Outcome outcome, std::string message);

  const Clock& clock_;
  Poster here_;
  std::unordered_map<std::string, Waiting> waiting_;  // by invocation
  bool stopped_ = false;
};

}  // namespace orchid::gateway
