#include "flow_run/flow_tuning.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

namespace orchid::flow {

Result<std::unique_ptr<Tuner>> make_tuner(const Plan& plan, const OpenLibrary& open) {
  if (plan.optimisers.empty()) return nullptr;
  std::vector<std::unique_ptr<Optimiser>> optimisers;
  for (const PlannedOptimiser& planned : plan.optimisers) {
    if (!planned.is_library()) {
      optimisers.push_back(make_optimiser(planned));
      continue;
    }
    if (!open)
      return fail(ErrorCode::unsupported,
                  "optimiser '" + planned.name +
                      "' is a library, which only 'orchid flow run' loads; run the flow there, or "
                      "take it out of 'optimise'");
    auto opened = open(planned);
    if (!opened) return fail(std::move(opened.error()));
    optimisers.push_back(std::move(*opened));
  }
  return std::make_unique<Tuner>(plan, std::move(optimisers));
}

std::vector<HostSituation> host_situations(std::string_view text) {
  std::vector<HostSituation> all;
  const auto document = nlohmann::json::parse(text, nullptr, false);
  if (!document.is_object() || !document.value("hosts", nlohmann::json()).is_array()) return all;
  for (const auto& host : document["hosts"]) {
    if (!host.is_object()) continue;
    const auto number = [&host](const char* name) {
      const auto found = host.find(name);
      return found != host.end() && found->is_number_unsigned() ? found->get<std::uint32_t>() : 0U;
    };
    const auto text_of = [&host](const char* name) {
      const auto found = host.find(name);
      return found != host.end() && found->is_string() ? found->get<std::string>() : std::string();
    };
    const auto watts = host.find("watts");
    const bool draws = watts != host.end() && watts->is_number() && watts->get<double>() >= 0;
    const bool drained =
        host.contains("drained") && host["drained"].is_boolean() && host["drained"].get<bool>();
    const auto left = [](std::uint32_t of, std::uint32_t taken) {
      return of - std::min(of, taken);
    };
    const std::uint32_t usable = number(host.contains("cores_usable") ? "cores_usable" : "cores");
    all.push_back({.name = text_of(host.contains("name") ? "name" : "hostname"),
                   .kind = text_of("kind"),
                   .cores = number("cores"),
                   .cores_free = drained ? 0 : left(usable, number("cores_leased")),
                   .gpus_free = drained ? 0 : left(number("gpus_usable"), number("gpus_leased")),
                   .watts = draws ? std::optional(watts->get<double>()) : std::nullopt,
                   .cluster = text_of("cluster")});
  }
  return all;
}

}  // namespace orchid::flow
