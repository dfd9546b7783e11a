#include "leases/placement_routes.h"

#include <nlohmann/json.hpp>

#include "http/problem.h"
#include "leases/demand_report.h"
#include "leases/lease_documents.h"
#include "leases/lease_routes.h"
#include "leases/placement_report.h"

namespace orchid::gateway {

void PlacementRoutes::add_to(Router& router) {
  router.add(Method::get, "/v1/leases/{}/placement", {},
             [this](Request& request, const Reply& reply) { explain(request, reply); });
  router.add(Method::get, "/v1/placement", {.query = placement_query_names()},
             [this](Request& request, const Reply& reply) { consider(request, reply); });
  router.add(Method::get, "/v1/demand", {},
             [this](Request&, const Reply& reply) { demand(reply); });
}

void PlacementRoutes::explain(Request& request, const Reply& reply) {
  const auto id = find_lease_id(request, reply);
  if (!id) return;
  parts_.loop.ask(
      [tenant = request.identity.tenant.uid, id = *id](WorkerBroker& broker,
                                                       MonotonicTime now) -> Result<std::string> {
        auto explanations = broker.explain(tenant, id);
        if (!explanations) return fail(std::move(explanations.error()));
        return explanations_json(*explanations, now);
      },
      parts_.here,
      [reply](Result<std::string> text) {
        reply.send(text ? json_response(200, std::move(*text))
                        : to_response(problem_of(text.error())));
      });
}

void PlacementRoutes::consider(Request& request, const Reply& reply) {
  auto wanted = parse_placement_query(request.query);
  if (!wanted) return reply.send(to_response(problem_of(wanted.error())));
  const placement::TenantId tenant(static_cast<std::uint32_t>(request.identity.tenant.uid));
  parts_.loop.ask(
      [tenant, worker = std::move(*wanted)](WorkerBroker& broker, MonotonicTime now) mutable {
        for (placement::WorkerShape& shape : worker.alternatives)
          if (shape.memory.value == 0) shape.memory = broker.worker_memory();
        if (worker.client_host.value().empty())
          worker.client_host = placement::HostId(broker.boot_id());
        std::vector<Considered> considered;
        for (std::uint32_t i = 0; i < worker.alternatives.size(); ++i)
          considered.push_back({worker.alternatives[i],
                                broker.consider({.tenant = tenant, .worker = worker}, now, i)});
        return findings_json(considered);
      },
      parts_.here, [reply](std::string text) { reply.send(json_response(200, std::move(text))); });
}

void PlacementRoutes::demand(const Reply& reply) {
  parts_.loop.ask([](const WorkerBroker& broker,
                     MonotonicTime) { return demand_json(broker.demand()).dump() + "\n"; },
                  parts_.here,
                  [reply](std::string text) { reply.send(json_response(200, std::move(text))); });
}

}  // namespace orchid::gateway
