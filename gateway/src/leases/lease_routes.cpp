#include "leases/lease_routes.h"

#include <utility>
#include <variant>
#include <vector>

#include "http/problem.h"
#include "leases/lease_documents.h"

namespace orchid::gateway {
namespace {

constexpr ByteCount largest_document = 64_KiB;
constexpr ByteCount largest_calls = 4_MiB;

Response refuse(const Failure& failure) { return to_response(problem_of(failure)); }

/// One of workers, or of memory.
using AnyLease = std::variant<Result<ClientLeaseView>, Result<MemoryLeaseView>>;

Response done(const Result<void>& what) {
  if (!what) return refuse(what.error());
  Response response;
  response.status = 204;
  return response;
}

template <typename View>
Response answer(unsigned status, const Result<View>& lease, Secrets secrets) {
  if (!lease) return refuse(lease.error());
  return json_response(status, lease_json(*lease, secrets));
}

template <typename View>
Response opened(const Result<View>& lease) {
  Response response = answer(201, lease, Secrets::shown);
  if (lease) response.with("Location", "/v1/leases/" + to_string(lease->id));
  return response;
}

LeaseTenant tenant_of(const Request& request) {
  return {static_cast<std::uint32_t>(request.identity.tenant.uid), request.identity.tenant.name};
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
  router.add(Method::post, "/v1/leases/{}/calls", {.body = largest_calls},
             bind(&LeaseRoutes::tell_calls));
  router.add(Method::get, "/v1/leases/{}/calls", {}, bind(&LeaseRoutes::list_calls));
}

void LeaseRoutes::open(Request& request, const Reply& reply) {
  if (asks_for_memory(request.body)) return open_memory(request, reply);
  auto wanted = parse_lease_request(request.body);
  if (!wanted) return reply.send(refuse(wanted.error()));
  wanted->tenant = tenant_of(request);
  parts_.leases.open(std::move(*wanted), parts_.here,
                     [reply](const Result<ClientLeaseView>& lease) { reply.send(opened(lease)); });
}

void LeaseRoutes::open_memory(Request& request, const Reply& reply) {
  auto wanted = parse_memory_request(request.body);
  if (!wanted) return reply.send(refuse(wanted.error()));
  wanted->tenant = tenant_of(request);
  parts_.memory.open(std::move(*wanted), parts_.here,
                     [reply](const Result<MemoryLeaseView>& lease) { reply.send(opened(lease)); });
}

void LeaseRoutes::list(Request& request, const Reply& reply) {
  using Both = std::pair<std::vector<ClientLeaseView>, std::vector<MemoryLeaseView>>;
  parts_.leases.ask(
      [&memory = parts_.memory, tenant = request.identity.tenant.uid](ClientLeases& leases,
                                                                      MonotonicTime now) {
        return Both(leases.list(tenant, now), memory.leases().list(tenant, now));
      },
      parts_.here,
      [reply](const Both& both) {
        reply.send(json_response(200, lease_list_json(both.first, both.second)));
      });
}

/// `of_either(leases, now)` is asked of those that know the lease.
template <typename OfEither>
void LeaseRoutes::answer_of(Request& request, const Reply& reply, Secrets secrets,
                            OfEither of_either) {
  const auto id = find_lease_id(request, reply);
  if (!id) return;
  parts_.leases.ask(
      [&memory = parts_.memory, id = *id, of_either](ClientLeases& leases,
                                                     MonotonicTime now) -> AnyLease {
        if (memory.leases().knows(id)) return of_either(memory.leases(), id, now);
        return of_either(leases, id, now);
      },
      parts_.here,
      [reply, secrets](const AnyLease& lease) {
        reply.send(std::visit([&](const auto& one) { return answer(200, one, secrets); }, lease));
      });
}

void LeaseRoutes::get(Request& request, const Reply& reply) {
  answer_of(request, reply, Secrets::hidden,
            [tenant = request.identity.tenant.uid](auto& leases, LeaseId id, MonotonicTime now)
                -> AnyLease { return leases.find(tenant, id, now); });
}

void LeaseRoutes::renew(Request& request, const Reply& reply) {
  const auto renewal = parse_lease_renewal(request.body);
  if (!renewal) return reply.send(refuse(renewal.error()));
  answer_of(request, reply, Secrets::shown,
            [tenant = request.identity.tenant.uid, renewal = *renewal](
                auto& leases, LeaseId id, MonotonicTime now) -> AnyLease {
              if constexpr (requires { leases.renew(tenant, id, renewal, now); })
                return leases.renew(tenant, id, renewal, now);
              else
                return leases.renew(tenant, id, renewal.duration, now);
            });
}

void LeaseRoutes::close(Request& request, const Reply& reply) {
  const auto id = find_lease_id(request, reply);
  if (!id) return;
  parts_.leases.ask(
      [&memory = parts_.memory, tenant = request.identity.tenant.uid, id = *id](
          ClientLeases& leases, MonotonicTime now) {
        return memory.leases().knows(id) ? memory.leases().close(tenant, id, now)
                                         : leases.close(tenant, id, now);
      },
      parts_.here, [reply](const Result<void>& closed) { reply.send(done(closed)); });
}

void LeaseRoutes::tell_calls(Request& request, const Reply& reply) {
  const auto id = find_lease_id(request, reply);
  if (!id) return;
  auto calls = parse_traced_calls(request.body);
  if (!calls) return reply.send(refuse(calls.error()));
  parts_.leases.ask([tenant = request.identity.tenant.uid, id = *id, calls = std::move(*calls)](
                        ClientLeases& leases,
                        MonotonicTime now) { return leases.tell_calls(tenant, id, calls, now); },
                    parts_.here, [reply](const Result<void>& told) { reply.send(done(told)); });
}

void LeaseRoutes::list_calls(Request& request, const Reply& reply) {
  const auto id = find_lease_id(request, reply);
  if (!id) return;
  parts_.leases.ask(
      [tenant = request.identity.tenant.uid, id = *id](ClientLeases& leases,
                                                       MonotonicTime now) -> Result<std::string> {
        const auto calls = leases.calls_of(tenant, id);
        if (!calls) return fail(calls.error());
        return traced_calls_json(*calls, now);
      },
      parts_.here,
      [reply](const Result<std::string>& calls) {
        reply.send(calls ? json_response(200, *calls) : refuse(calls.error()));
      });
}

}  // namespace orchid::gateway
