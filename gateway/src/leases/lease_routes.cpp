#include "leases/lease_routes.h"

#include "http/problem.h"
#include "leases/lease_documents.h"

namespace orchid::gateway {
namespace {

constexpr ByteCount largest_document = 64_KiB;

Response refuse(const Failure& failure) { return to_response(problem_of(failure)); }

Response answer(unsigned status, const Result<ClientLeaseView>& lease, Secrets secrets) {
  if (!lease) return refuse(lease.error());
  return json_response(status, lease_json(*lease, secrets));
}

}  // namespace

std::optional<LeaseId> find_lease_id(const Request& request, const Reply& reply) {
  auto id = parse_lease_id(request.parameters[0]);
  if (!id)
    reply.send(refuse({ErrorCode::not_found, "this is not a lease's id: ids look like l-3-17"}));
  return id;
}

void LeaseRoutes::add_to(Router& router) {
  const auto bind = [this](void (LeaseRoutes::*handler)(Request&, const Reply&)) {
    return
        [this, handler](Request& request, const Reply& reply) { (this->*handler)(request, reply); };
  };
  router.add(Method::post, "/v1/leases", {.body = largest_document}, bind(&LeaseRoutes::open));
  router.add(Method::get, "/v1/leases", {}, bind(&LeaseRoutes::list));
  router.add(Method::get, "/v1/leases/{}", {}, bind(&LeaseRoutes::get));
  router.add(Method::patch, "/v1/leases/{}", {.body = largest_document}, bind(&LeaseRoutes::renew));
  router.add(Method::delete_, "/v1/leases/{}", {}, bind(&LeaseRoutes::close));
}

void LeaseRoutes::open(Request& request, const Reply& reply) {
  auto wanted = parse_lease_request(request.body);
  if (!wanted) return reply.send(refuse(wanted.error()));
  wanted->tenant = {static_cast<std::uint32_t>(request.identity.tenant.uid),
                    request.identity.tenant.name};
  parts_.leases.open(std::move(*wanted), parts_.here,
                     [reply](const Result<ClientLeaseView>& lease) {
                       Response response = answer(201, lease, Secrets::shown);
                       if (lease) response.with("Location", "/v1/leases/" + to_string(lease->id));
                       reply.send(std::move(response));
                     });
}

void LeaseRoutes::list(Request& request, const Reply& reply) {
  parts_.leases.ask(
      [tenant = request.identity.tenant.uid](ClientLeases& leases, MonotonicTime now) {
        return leases.list(tenant, now);
      },
      parts_.here,
      [reply](const std::vector<ClientLeaseView>& leases) {
        reply.send(json_response(200, lease_list_json(leases)));
      });
}

void LeaseRoutes::get(Request& request, const Reply& reply) {
  const auto id = find_lease_id(request, reply);
  if (!id) return;
  parts_.leases.ask(
      [tenant = request.identity.tenant.uid, id = *id](ClientLeases& leases, MonotonicTime now) {
        return leases.find(tenant, id, now);
      },
      parts_.here,
      [reply](const Result<ClientLeaseView>& lease) {
        reply.send(answer(200, lease, Secrets::hidden));
      });
}

void LeaseRoutes::renew(Request& request, const Reply& reply) {
  const auto renewal = parse_lease_renewal(request.body);
  if (!renewal) return reply.send(refuse(renewal.error()));
  const auto id = find_lease_id(request, reply);
  if (!id) return;
  parts_.leases.ask([tenant = request.identity.tenant.uid, id = *id, renewal = *renewal](
                        ClientLeases& leases,
                        MonotonicTime now) { return leases.renew(tenant, id, renewal, now); },
                    parts_.here,
                    [reply](const Result<ClientLeaseView>& lease) {
                      reply.send(answer(200, lease, Secrets::shown));
                    });
}

void LeaseRoutes::close(Request& request, const Reply& reply) {
  const auto id = find_lease_id(request, reply);
  if (!id) return;
  parts_.leases.ask(
      [tenant = request.identity.tenant.uid, id = *id](ClientLeases& leases, MonotonicTime now) {
        return leases.close(tenant, id, now);
      },
      parts_.here,
      [reply](const Result<void>& closed) {
        if (!closed) return reply.send(refuse(closed.error()));
        Response response;
        response.status = 204;
        reply.send(std::move(response));
      });
}

}  // namespace orchid::gateway
