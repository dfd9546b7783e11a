// control/lease_routes.h: /v1/leases: workers for a client that calls them directly.
#pragma once
#include <boost/asio/io_context.hpp>

#include "control/capacity_control.h"
#include "http/router.h"

namespace orchid::gateway {

/// Owned by its HTTP thread; outlives its router.
class LeaseRoutes {
 public:
  struct Parts {
    CapacityControl& capacity;
    boost::asio::io_context& here;  // this thread's
  };
  explicit LeaseRoutes(Parts parts) : parts_(parts) {}
  void add_to(Router& router);

 private:
  void open(Request& request, const Reply& reply);
  void list(Request& request, const Reply& reply);
  void get(Request& request, const Reply& reply);
  void explain(Request& request, const Reply& reply);
  void consider(Request& request, const Reply& reply);
  void demand(Request& request, const Reply& reply);
  void renew(Request& request, const Reply& reply);
  void close(Request& request, const Reply& reply);
  template <typename Answer>
  void ask(std::function<Answer(ClientLeases&, MonotonicTime)> work,
           std::function<void(Answer)> done) {
    parts_.capacity.with_leases<Answer>(std::move(work), parts_.here, std::move(done));
  }

  Parts parts_;
};

}  // namespace orchid::gateway
