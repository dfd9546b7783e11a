// hosts/executor_routes.h: /v1/executors/connect: where executors come in.
#pragma once
#include "hosts/executor_gate.h"
#include "http/routes.h"

namespace orchid::gateway {

/// Owned by its HTTP thread; outlives its router.
class ExecutorRoutes final : public Routes {
 public:
  struct Parts {
    ExecutorGate& gate;
    Poster here;
  };
  explicit ExecutorRoutes(const Parts& parts) : gate_(parts.gate) {}
  void add_to(Router& router) override;

 private:
  ExecutorGate& gate_;
};

}  // namespace orchid::gateway
