// invocations/forwarding_runner.h: a runner that stands before another one.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "calls/call.h"

namespace orchid::gateway {

/// All goes straight on, but for what a class of its own does otherwise.
class ForwardingRunner : public CallRunner {
 public:
  /// It outlives this.
  explicit ForwardingRunner(CallRunner& runner) : runner_(runner) {}

  void start(Call call, CallDone done) override { runner_.start(std::move(call), std::move(done)); }
  void expect(uid_t tenant, const std::shared_ptr<const FunctionVersion>& version) override {
    runner_.expect(tenant, version);
  }
  void warm(uid_t tenant, const std::shared_ptr<const FunctionVersion>& version,
            const CallPlace& place) override {
    runner_.warm(tenant, version, place);
  }
  void cancel(const std::string& invocation) override { runner_.cancel(invocation); }
  [[nodiscard]] RunningLog running_log(const std::string& invocation) const override {
    return runner_.running_log(invocation);
  }
  [[nodiscard]] std::optional<double> running_progress(
      const std::string& invocation) const override {
    return runner_.running_progress(invocation);
  }
  bool poll() override { return runner_.poll(); }
  [[nodiscard]] bool expects_answer_soon() const override { return runner_.expects_answer_soon(); }
  [[nodiscard]] bool prepare_to_sleep() override { return runner_.prepare_to_sleep(); }
  void finish_sleep() override { runner_.finish_sleep(); }

 protected:
  [[nodiscard]] CallRunner& runner() const { return runner_; }

 private:
  CallRunner& runner_;
};

}  // namespace orchid::gateway
