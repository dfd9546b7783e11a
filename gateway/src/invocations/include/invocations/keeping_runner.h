// invocations/keeping_runner.h: calls whose output becomes a data object in place of an answer.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "calls/call.h"
#include "calls/output_keeper.h"

namespace orchid::gateway {

/// Stands before the runner of one HTTP thread, and is owned by that thread, as the runner is. A
/// call that asks for it ends when its output is kept, or could not be; all others go straight on.
class KeepingRunner final : public CallRunner {
 public:
  /// It outlives this.
  explicit KeepingRunner(CallRunner& runner) : runner_(runner) {}
  /// Before the first call.
  void set_keeper(OutputKeeper keep) { keep_ = std::move(keep); }

  void start(Call call, CallDone done) override;
  void expect(uid_t tenant, const std::shared_ptr<const FunctionVersion>& version) override {
    runner_.expect(tenant, version);
  }
  /// One whose output is being kept has succeeded already, and ends as such.
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

 private:
  CallRunner& runner_;
  OutputKeeper keep_;
};

}  // namespace orchid::gateway
