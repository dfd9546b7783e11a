// flows/flow_routes.h: /v1/flows: who asks, and for how much; the rest is the tenant's process's.
#pragma once
#include <functional>
#include <vector>

#include "flows/flow_service.h"
#include "foundation/task.h"
#include "http/routes.h"
#include "http/stream_limit.h"

namespace orchid::gateway {

/// Asks a tenant's flows, from any HTTP thread; `done` is called on the thread of `here`. A value.
struct FlowAsker {
  FlowService& flows;  // on the control thread
  Poster control;
  Poster here;
  void ask(const Tenant& tenant, FlowRequest request, std::vector<std::byte> content,
           FlowReplied done) const;
};

/// Owned by its HTTP thread; outlives its router.
class FlowRoutes final : public Routes {
 public:
  struct Parts {
    FlowService& flows;
    Poster control;
    StreamLimit& streams;
    Poster here;
  };
  explicit FlowRoutes(Parts parts)
      : asker_{parts.flows, std::move(parts.control), std::move(parts.here)},
        streams_(parts.streams) {}
  void add_to(Router& router) override;

 private:
  void check(Request& request, const Reply& reply);
  void submit(Request& request, const Reply& reply);
  void show(Request& request, const Reply& reply);
  void events(Request& request, const Reply& reply);
  [[nodiscard]] Handler asking(FlowAsk ask);

  FlowAsker asker_;
  StreamLimit& streams_;
};

}  // namespace orchid::gateway
