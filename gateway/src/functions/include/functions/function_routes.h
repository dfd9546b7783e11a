// functions/function_routes.h: /v1/functions: deploy, list, describe, delete, the module itself.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "calls/call_data.h"
#include "calls/worker_for.h"
#include "foundation/task.h"
#include "functions/function_service.h"
#include "functions/published.h"
#include "http/routes.h"

namespace orchid::gateway {

/// Owned by its HTTP thread; outlives its router.
class FunctionRoutes final : public Routes {
 public:
  struct Parts {
    FunctionService& functions;  // on the control thread
    Published<FunctionTable>& table;
    CallRunner& runner;  // of this thread
    Poster here;
    Poster control;
    CallDataFinder find_data;  // asked on the control thread
    CheckCluster check_cluster;
    /// Where stored calls, as flows make them, run first: CallRunner::warm there. From any thread.
    std::function<void(uid_t, std::shared_ptr<const FunctionVersion>, CallPlace)> warm;
  };
  explicit FunctionRoutes(Parts parts);
  void add_to(Router& router) override;

 private:
  struct Named {
    const Function& function;
    const DeployedVersion& version;
  };
  [[nodiscard]] std::optional<Named> named_by(const Request& request, const Reply& reply);

  void put(Request& request, const Reply& reply);
  void list(Request& request, const Reply& reply);
  void get(Request& request, const Reply& reply);
  void versions(Request& request, const Reply& reply);
  void module(Request& request, const Reply& reply);
  void load(Request& request, const Reply& reply);
  /// Calls that come soon.
  struct Coming {
    CallPlace place;   // as they ask for it
    std::string data;  // names of data objects; empty: none
  };
  [[nodiscard]] static Result<CallPlace> place_for(const Parts& parts, uid_t tenant,
                                                   const FunctionVersion& version, Coming calls);
  [[nodiscard]] Result<const DeployedVersion*> find_module(uid_t tenant, const std::string& name);
  void remove(Request& request, const Reply& reply);

  Parts parts_;
  Published<FunctionTable>::Reader table_;
};

}  // namespace orchid::gateway
