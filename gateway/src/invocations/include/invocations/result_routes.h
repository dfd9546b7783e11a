// invocations/result_routes.h: /v1/invocations: how calls go, what they gave, their logs,
// cancelling.
#pragma once
#include <functional>
#include <vector>

#include "foundation/clock.h"
#include "foundation/task.h"
#include "http/routes.h"
#include "invocations/async_invocations.h"
#include "invocations/sync_calls.h"

namespace orchid::gateway {

/// Where an HTTP thread's synchronous calls are; `calls` is used by tasks on that thread only.
struct CallsPort {
  Poster post;
  SyncCalls* calls = nullptr;
};

/// Owned by its HTTP thread; outlives its router.
class ResultRoutes final : public Routes {
 public:
  struct Parts {
    AsyncInvocations& async;                // on the control thread
    const std::vector<CallsPort>& threads;  // the n-th is home n + 1; constant once threads run
    const Clock& clock;
    Poster control;
    Poster here;
  };
  explicit ResultRoutes(Parts parts) : parts_(std::move(parts)) {}
  void add_to(Router& router) override;

 private:
  void list(Request& request, const Reply& reply);
  void get(Request& request, const Reply& reply);
  void output(Request& request, const Reply& reply);
  void logs(Request& request, const Reply& reply);
  void cancel(Request& request, const Reply& reply);
  /// Finds an invocation wherever it is; `done` runs on this thread.
  void find(uid_t tenant, const std::string& id, MonotonicTime until, const ViewDone& done);
  [[nodiscard]] const CallsPort* home(const std::string& id) const;
  void cancel_async(uid_t tenant, const std::string& id, const Reply& reply);

  Parts parts_;
};

}  // namespace orchid::gateway
