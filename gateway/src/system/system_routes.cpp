#include "system/system_routes.h"

#include <nlohmann/json.hpp>

#include "protocol/limits.h"
#include "system/flow_schema_text.h"
#include "system/openapi_text.h"

namespace orchid::gateway {
namespace {

using Json = nlohmann::ordered_json;

Response plain(std::string_view content_type, std::string_view text) {
  Response response;
  response.content_type = content_type;
  response.text = text;
  return response;
}

}  // namespace

void SystemRoutes::ask_control(std::function<void(ControlStatus)> done) {
  parts_.control([status = parts_.control_status, here = parts_.here, done = std::move(done)] {
    here([done, answer = status()] { done(answer); });
  });
}

void SystemRoutes::add_to(Router& router) {
  const RouteOptions open{.is_public = true};
  router.add(Method::get, "/healthz", open,
             [](Request&, const Reply& reply) { reply.send(plain(content_type::text, "ok\n")); });
  router.add(Method::get, "/readyz", open, [this](Request&, const Reply& reply) { ready(reply); });
  router.add(Method::get, "/version", open, [](Request&, const Reply& reply) {
    const Json json{{"name", "orchid-gateway"}, {"version", ORCHID_VERSION}, {"api", {"v1"}}};
    reply.send(json_response(200, json.dump() + "\n"));
  });
  router.add(Method::get, "/openapi.yaml", open, [](Request&, const Reply& reply) {
    reply.send(plain("application/yaml", openapi_text));
  });
  router.add(Method::get, "/v1/flow.schema.json", open, [](Request&, const Reply& reply) {
    reply.send(plain("application/schema+json", flow_schema_text));
  });
  router.add(Method::get, "/metrics", {}, [this](Request&, const Reply& reply) { metrics(reply); });
  router.add(Method::get, "/v1/limits", {},
             [this](Request&, const Reply& reply) { limits(reply); });
}

void SystemRoutes::ready(const Reply& reply) {
  ask_control([reply](const ControlStatus& status) {
    // How many there are, everybody may know.
    const std::size_t executors = status.executors_connected;
    const bool is_ready = status.inspector_up && executors > 0;
    Json missing = Json::array();
    if (!status.inspector_up)
      missing.push_back("the module inspector (orchid-compiler) does not run");
    if (executors == 0) missing.push_back("no executor is connected: start orchid-executor");
    const Json json{{"ready", is_ready},
                    {"store", true},
                    {"inspector", status.inspector_up},
                    {"executors", executors},
                    {"missing", missing}};
    Response response = json_response(is_ready ? 200 : 503, json.dump() + "\n");
    if (!is_ready) response.with("Retry-After", "1");
    reply.send(std::move(response));
  });
}

void SystemRoutes::metrics(const Reply& reply) {
  parts_.control([this, reply, add = parts_.add_metrics, here = parts_.here] {
    MetricsText others;
    add(others);
    here([this, reply, text = std::move(others)]() mutable {
      add_own_metrics(text);
      reply.send(plain("text/plain; version=0.0.4; charset=utf-8", text.take()));
    });
  });
}

void SystemRoutes::add_own_metrics(MetricsText& text) const {
  text.describe(MetricKind::gauge, "orchid_build_info", "The version that runs.");
  text.sample(std::uint64_t{1}, {{"version", ORCHID_VERSION}});
  const auto uptime =
      std::chrono::duration_cast<std::chrono::seconds>(parts_.clock.now() - parts_.started);
  text.gauge("orchid_uptime_seconds", "Time since the gateway started.",
             static_cast<std::uint64_t>(uptime.count()));
  text.gauge("orchid_functions", "Deployed functions.", parts_.table.current()->function_count());
}

void SystemRoutes::limits(const Reply& reply) {
  namespace bounds = orchid::limits;
  const auto ms = [](auto time) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
  };
  const Json json{{"module_bytes", bounds::module_size.value},
                  {"input_bytes", bounds::input_size.value},
                  {"output_bytes", bounds::output_size.value},
                  {"log_bytes", bounds::log_size.value},
                  {"message_bytes", bounds::message_size.value},
                  {"entries_per_module", bounds::entries_per_module},
                  {"images_per_module", bounds::images_per_module},
                  {"function_name_length", bounds::function_name_length},
                  {"default_deadline_ms", ms(parts_.defaults.deadline)},
                  {"default_async_deadline_ms", ms(parts_.defaults.async_deadline)},
                  {"default_wait_ms", ms(parts_.defaults.wait)},
                  {"longest_deadline_ms", ms(bounds::longest_deadline)},
                  {"queued_invocations", parts_.queued_limit},
                  {"event_streams", parts_.event_streams},
                  {"worker_memory_bytes", parts_.worker_memory.value}};
  reply.send(json_response(200, json.dump() + "\n"));
}

}  // namespace orchid::gateway
