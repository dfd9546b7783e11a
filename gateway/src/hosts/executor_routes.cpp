#include "hosts/executor_routes.h"

#include <string_view>
#include <utility>

#include "http/problem.h"

namespace orchid::gateway {
namespace {

boost::beast::string_view of_beast(std::string_view text) { return {text.data(), text.size()}; }

/// As Beast's WebSockets want it.
UpgradeRequest upgrade_request(const Request& request) {
  UpgradeRequest upgrade;
  upgrade.method(boost::beast::http::verb::get);
  upgrade.target(of_beast(request.target));
  upgrade.version(10U + request.minor_version);
  for (std::size_t i = 0; i < request.headers.size(); ++i) {
    const HeaderFields::Field field = request.headers.at(i);
    upgrade.insert(of_beast(field.name), of_beast(field.value));
  }
  return upgrade;
}

Response upgrade_required() {
  Problem problem = problem_of(
      Failure{ErrorCode::bad_request, "executors connect here, with 'Upgrade: websocket'"});
  problem.status = 426;
  return std::move(to_response(problem).with("Upgrade", "websocket"));
}

}  // namespace

void ExecutorRoutes::add_to(Router& router) {
  router.add_websocket(
      "/v1/executors/connect",
      [&gate = gate_](UniqueFd socket, const Request& request) {
        gate.accept(std::move(socket), upgrade_request(request), request.identity);
      },
      [](Request&, const Reply& reply) { reply.send(upgrade_required()); });
}

}  // namespace orchid::gateway
