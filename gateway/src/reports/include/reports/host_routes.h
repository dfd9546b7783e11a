// reports/host_routes.h: /v1/hosts: hosts, clusters and what is wanted of them; /v1/utilisation.
#pragma once
#include <utility>

#include "foundation/task.h"
#include "http/routes.h"
#include "reports/host_reports.h"
#include "reports/utilisation.h"

namespace orchid::gateway {

/// Owned by its HTTP thread; outlives its router.
class HostRoutes final : public Routes {
 public:
  struct Parts {
    HostReports& reports;
    Utilisation& utilisation;
    Poster here;
  };
  explicit HostRoutes(Parts parts) : parts_(std::move(parts)) {}
  void add_to(Router& router) override;

 private:
  void hosts(const Request& request, const Reply& reply);
  void utilisation(const Request& request, const Reply& reply);

  Parts parts_;
};

}  // namespace orchid::gateway
