// invocations/invocation_finder.h: finds an invocation, whichever thread looks after it.
#pragma once
#include <string>
#include <vector>

#include "foundation/task.h"
#include "invocations/async_invocations.h"
#include "invocations/invocation_view.h"
#include "invocations/sync_calls.h"

namespace orchid::gateway {

/// Where an HTTP thread's synchronous calls are; `calls` is used by tasks on that thread only.
struct CallsPort {
  Poster post;
  SyncCalls* calls = nullptr;
};

/// Owned by its HTTP thread.
class InvocationFinder {
 public:
  struct Parts {
    AsyncInvocations& async;                // on the control thread
    const std::vector<CallsPort>& threads;  // the n-th is home n + 1; constant once threads run
    Poster control;
    Poster here;
  };
  explicit InvocationFinder(Parts parts) : parts_(std::move(parts)) {}

  /// `done` runs on this thread.
  void find(uid_t tenant, const std::string& id, ViewWait wait, const ViewDone& done) const;
  /// The thread at which a synchronous call of this id began; null: it is no such id.
  [[nodiscard]] const CallsPort* home(const std::string& id) const;

 private:
  Parts parts_;
};

}  // namespace orchid::gateway
