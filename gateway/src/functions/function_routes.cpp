#include "functions/function_routes.h"

#include <optional>
#include <string>
#include <string_view>

#include "foundation/files.h"
#include "functions/function_documents.h"
#include "functions/function_options.h"
#include "http/precondition.h"
#include "http/problem.h"
#include "protocol/limits.h"

namespace orchid::gateway {
namespace {

std::string etag(const std::string& digest) { return "\"" + digest + "\""; }

bool is_digest_prefix(std::string_view name) {
  constexpr std::string_view kind = "sha256:";
  constexpr std::size_t least_digits = 16;
  return name.starts_with(kind) && name.size() >= kind.size() + least_digits &&
         name.substr(kind.size()).find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Response refuse(const Failure& failure, const std::string& function) {
  Problem problem = problem_of(failure);
  problem.function = function;
  // The conflicts of this resource are preconditions that do not hold.
  if (failure.code == ErrorCode::conflict) problem.status = 412;
  return to_response(problem);
}

/// A Date of its own is not needed: `version` names the content.
Response describe(unsigned status, const DeployedVersion& version, std::string body) {
  return std::move(
      json_response(status, std::move(body)).with("ETag", etag(version.version->digest)));
}

}  // namespace

FunctionRoutes::FunctionRoutes(Parts parts) : parts_(std::move(parts)), table_(parts_.table) {}

void FunctionRoutes::add_to(Router& router) {
  const auto bind = [this](void (FunctionRoutes::*handler)(Request&, const Reply&)) {
    return
        [this, handler](Request& request, const Reply& reply) { (this->*handler)(request, reply); };
  };
  router.add(Method::get, "/v1/functions", {}, bind(&FunctionRoutes::list));
  router.add(Method::put, "/v1/functions/{}",
             {.body = limits::module_size, .query = {"concurrency", "needs"}},
             bind(&FunctionRoutes::put));
  router.add(Method::get, "/v1/functions/{}", {}, bind(&FunctionRoutes::get));
  router.add(Method::delete_, "/v1/functions/{}", {}, bind(&FunctionRoutes::remove));
  router.add(Method::get, "/v1/functions/{}/versions", {}, bind(&FunctionRoutes::versions));
  router.add(Method::get, "/v1/functions/{}/module", {}, bind(&FunctionRoutes::module));
  router.add(Method::post, "/v1/functions/{}/load", {}, bind(&FunctionRoutes::load));
}

void FunctionRoutes::put(Request& request, const Reply& reply) {
  const std::string name(request.parameters[0]);
  auto precondition = parse_precondition(request);
  if (!precondition) return reply.send(refuse(precondition.error(), name));
  if (auto checked = check_function_name(name); !checked)
    return reply.send(refuse(checked.error(), ""));
  auto concurrency = parse_concurrency(request);
  if (!concurrency) return reply.send(refuse(concurrency.error(), name));
  auto needs = parse_needs(request);
  if (!needs) return reply.send(refuse(needs.error(), name));
  DeployRequest deploy{
      .tenant = request.identity.tenant.uid,
      .name = name,
      .module = std::move(request.body),
      .precondition = std::move(*precondition),
      .concurrency = *concurrency,
      .needs = std::move(*needs),
      .accepted = [&runner = parts_.runner, here = parts_.here,
                   tenant = request.identity.tenant.uid](
                      std::shared_ptr<const FunctionVersion> version) {
        here([&runner, tenant, version = std::move(version)] { runner.expect(tenant, version); });
      }};
  auto answer = [name, reply](const Result<Deployment>& deployed) {
    if (!deployed) return reply.send(refuse(deployed.error(), name));
    Response response =
        describe(deployed->created ? 201 : 200, deployed->version, version_json(deployed->version));
    if (deployed->created) response.with("Location", "/v1/functions/" + name);
    reply.send(std::move(response));
  };
  parts_.control([&functions = parts_.functions, here = parts_.here, deploy = std::move(deploy),
                  answer]() mutable {
    functions.deploy(std::move(deploy), [here, answer](Result<Deployment> deployed) {
      here([answer, deployed = std::move(deployed)] { answer(deployed); });
    });
  });
}

void FunctionRoutes::list(Request& request, const Reply& reply) {
  reply.send(
      json_response(200, function_list_json(table_.get().of_tenant(request.identity.tenant.uid))));
}

/// What the request names. Nothing: there is none, and the request is answered.
std::optional<FunctionRoutes::Named> FunctionRoutes::named_by(const Request& request,
                                                              const Reply& reply) {
  const std::string name(request.parameters[0]);
  const auto refused = [&reply](const Failure& failure, const std::string& function) {
    reply.send(refuse(failure, function));
    return std::nullopt;
  };
  auto reference = parse_function_reference(name);
  if (!reference) return refused(reference.error(), "");
  const uid_t tenant = request.identity.tenant.uid;
  const FunctionTable& table = table_.get();
  auto version = table.find_version(tenant, reference->function, reference->version_prefix);
  if (!version) return refused(version.error(), reference->function);
  return Named{.function = *table.find(tenant, reference->function), .version = **version};
}

void FunctionRoutes::get(Request& request, const Reply& reply) {
  const auto named = named_by(request, reply);
  if (!named) return;
  reply.send(describe(200, named->version, function_json(named->function, named->version)));
}

/// "N", "N@VERSION" or a digest, of which 16 digits are enough.
Result<const DeployedVersion*> FunctionRoutes::find_module(uid_t tenant, const std::string& name) {
  if (is_digest_prefix(name)) return table_.get().find_digest(tenant, name);
  auto reference = parse_function_reference(name);
  if (!reference) return fail(std::move(reference.error()));
  return table_.get().find_version(tenant, reference->function, reference->version_prefix);
}

void FunctionRoutes::module(Request& request, const Reply& reply) {
  const std::string name(request.parameters[0]);
  const auto deployed = find_module(request.identity.tenant.uid, name);
  if (!deployed) {
    const auto reference = parse_function_reference(name);
    return reply.send(refuse(deployed.error(), reference ? reference->function : ""));
  }
  const FunctionVersion& version = *(*deployed)->version;
  auto mapped = MappedFile::map(version.module.get(), {.limit = limits::module_size});
  if (!mapped) return reply.send(refuse(mapped.error(), version.function));
  Response response;
  response.content_type = content_type::bytes;
  const auto keeper = std::make_shared<const MappedFile>(std::move(*mapped));
  response.payload = {keeper->bytes(), keeper};
  response.with("ETag", etag(version.digest));
  reply.send(std::move(response));
}

/// Ahead of its first call, by a worker that is idle, or one that nobody else wants, where calls of
/// this place and with this data run; where there is none nothing happens. What the data lacks
/// there is on its way then.
void FunctionRoutes::load(Request& request, const Reply& reply) {
  const auto named = named_by(request, reply);
  if (!named) return;
  const std::string name = named->version.version->function;
  auto place = parse_call_place(request);
  if (!place) return reply.send(refuse(place.error(), name));
  auto found = [reply, name, warm = parts_.warm, tenant = request.identity.tenant.uid,
                version = named->version.version](Result<CallPlace> at) {
    if (!at) return reply.send(refuse(at.error(), name));
    warm(tenant, version, std::move(*at));
    Response response;
    response.status = 204;
    reply.send(std::move(response));
  };
  std::string data(request.header(Header::orchid_data));
  if (data.empty() && place->cluster.empty()) return found(std::move(place));
  parts_.control([&parts = parts_, tenant = request.identity.tenant.uid, data = std::move(data),
                  version = named->version.version, place = std::move(*place),
                  found = std::move(found)]() mutable {
    auto at =
        place_for(parts, tenant, *version, {.place = std::move(place), .data = std::move(data)});
    parts.here([found = std::move(found), at = std::move(at)]() mutable { found(std::move(at)); });
  });
}

/// On the control thread.
Result<CallPlace> FunctionRoutes::place_for(const Parts& parts, uid_t tenant,
                                            const FunctionVersion& version, Coming calls) {
  if (!calls.place.cluster.empty())
    if (auto known = parts.check_cluster(calls.place.cluster); !known)
      return fail(std::move(known.error()));
  if (calls.data.empty()) return std::move(calls.place);
  const auto data = parts.find_data.find(tenant, calls.data, worker_for(version, calls.place));
  if (!data) return fail(data.error());
  calls.place.data_at = (*data)->at;
  return std::move(calls.place);
}

void FunctionRoutes::versions(Request& request, const Reply& reply) {
  const std::string name(request.parameters[0]);
  const Function* function = table_.get().find(request.identity.tenant.uid, name);
  if (function == nullptr)
    return reply.send(refuse(
        Failure{ErrorCode::not_found, "there is no function '" + name + "': see 'orchid list'"},
        name));
  reply.send(json_response(200, version_list_json(*function)));
}

void FunctionRoutes::remove(Request& request, const Reply& reply) {
  std::string name(request.parameters[0]);
  auto precondition = parse_precondition(request);
  if (!precondition) return reply.send(refuse(precondition.error(), name));
  auto answer = [name, reply](const Result<void>& removed) {
    if (!removed) return reply.send(refuse(removed.error(), name));
    Response response;
    response.status = 204;
    reply.send(std::move(response));
  };
  parts_.control([&functions = parts_.functions, here = parts_.here,
                  tenant = request.identity.tenant.uid, name = std::move(name),
                  precondition = std::move(*precondition), answer]() mutable {
    functions.remove(tenant, name, std::move(precondition), [here, answer](Result<void> removed) {
      here([answer, removed = std::move(removed)] { answer(removed); });
    });
  });
}

}  // namespace orchid::gateway
