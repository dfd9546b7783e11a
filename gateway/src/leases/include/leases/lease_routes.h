// leases/lease_routes.h: /v1/leases: workers for a client that calls them directly, and memory.
#pragma once
#include <optional>
#include <utility>

#include "foundation/task.h"
#include "http/routes.h"
#include "leases/lease_documents.h"
#include "leases/lease_service.h"
#include "leases/memory_lease_service.h"

namespace orchid::gateway {

/// Owned by its HTTP thread; outlives its router.
class LeaseRoutes final : public Routes {
 public:
  struct Parts {
    LeaseService& leases;
    MemoryLeaseService& memory;
    Poster here;
  };
  explicit LeaseRoutes(Parts parts) : parts_(std::move(parts)) {}
  void add_to(Router& router) override;

 private:
  void open(Request& request, const Reply& reply);
  void open_memory(Request& request, const Reply& reply);
  template <typename OfEither>
  void answer_of(Request& request, const Reply& reply, Secrets secrets, OfEither of_either);
  void list(Request& request, const Reply& reply);
  void get(Request& request, const Reply& reply);
  void renew(Request& request, const Reply& reply);
  void close(Request& request, const Reply& reply);
  void tell_calls(Request& request, const Reply& reply);
  void list_calls(Request& request, const Reply& reply);
  Parts parts_;
};

/// Which lease the path names. Nothing, and the answer is sent: that is no lease's name.
[[nodiscard]] std::optional<LeaseId> find_lease_id(const Request& request, const Reply& reply);

}  // namespace orchid::gateway
