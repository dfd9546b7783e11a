// invocations/keeping_runner.h: calls whose output becomes a data object in place of an answer.
#pragma once
#include <utility>

#include "calls/call.h"
#include "calls/output_keeper.h"
#include "invocations/forwarding_runner.h"

namespace orchid::gateway {

/// Stands before the runner of one HTTP thread, and is owned by that thread, as the runner is. A
/// call that asks for it ends when its output is kept, or could not be; all others go straight on.
/// One that is cancelled while its output is being kept has succeeded already, and ends as such.
class KeepingRunner final : public ForwardingRunner {
 public:
  using ForwardingRunner::ForwardingRunner;
  /// Before the first call.
  void set_keeper(OutputKeeper keep) { keep_ = std::move(keep); }

  void start(Call call, CallDone done) override;

 private:
  OutputKeeper keep_;
};

}  // namespace orchid::gateway
