// leases/placement_routes.h: why workers are where they are, or nowhere: /v1/leases/ID/placement,
// /v1/placement, /v1/demand.
#pragma once
#include <utility>

#include "foundation/task.h"
#include "http/routes.h"
#include "leases/broker_loop.h"

namespace orchid::gateway {

/// Owned by its HTTP thread; outlives its router.
class PlacementRoutes final : public Routes {
 public:
  struct Parts {
    BrokerLoop& loop;
    Poster here;
  };
  explicit PlacementRoutes(Parts parts) : parts_(std::move(parts)) {}
  void add_to(Router& router) override;

 private:
  void explain(Request& request, const Reply& reply);
  void consider(Request& request, const Reply& reply);
  void demand(const Reply& reply);

  Parts parts_;
};

}  // namespace orchid::gateway
