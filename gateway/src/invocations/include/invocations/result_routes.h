// invocations/result_routes.h: /v1/invocations: how calls go, also as events, what they gave, their
// logs, cancelling.
#pragma once
#include <vector>

#include "foundation/clock.h"
#include "foundation/task.h"
#include "http/routes.h"
#include "http/stream_limit.h"
#include "invocations/async_invocations.h"
#include "invocations/invocation_finder.h"

namespace orchid::gateway {

/// Owned by its HTTP thread; outlives its router.
class ResultRoutes final : public Routes {
 public:
  struct Parts {
    AsyncInvocations& async;                // on the control thread
    const std::vector<CallsPort>& threads;  // as InvocationFinder has them
    const Clock& clock;
    Poster control;
    StreamLimit& streams;
    Poster here;
  };
  explicit ResultRoutes(Parts parts)
      : parts_(std::move(parts)),
        finder_({parts_.async, parts_.threads, parts_.control, parts_.here}) {}
  void add_to(Router& router) override;

 private:
  void list(Request& request, const Reply& reply);
  void get(Request& request, const Reply& reply);
  void events(Request& request, const Reply& reply);
  void output(Request& request, const Reply& reply);
  void logs(Request& request, const Reply& reply);
  void cancel(Request& request, const Reply& reply);
  void cancel_async(uid_t tenant, const std::string& id, const Reply& reply);

  Parts parts_;
  InvocationFinder finder_;
};

}  // namespace orchid::gateway
