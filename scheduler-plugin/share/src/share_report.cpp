#include "share/share_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

namespace orchid::share {

std::vector<NodeShare> shares_of(const GatewayQuestion& get, std::optional<std::uint64_t> job) {
  const std::string path = job ? fmt::format("/v1/hosts?job={}", *job) : "/v1/hosts";
  const auto hosts = nlohmann::json::parse(get(path));
  std::vector<NodeShare> found;
  for (const auto& host : hosts.at("hosts"))
    for (const auto& executor : host.at("executors")) {
      const nlohmann::json grant = executor.value("grant", nlohmann::json::object());
      if (grant.value("source", "") != "share" ||
          (job && grant.value("job", std::uint64_t{0}) != *job))
        continue;
      // It has given its cores back and gone; the gateway remembers it for a while.
      if (executor.at("state") != "connected" && executor.at("cores").empty()) continue;
      NodeShare share{.job = grant.value("job", std::uint64_t{0}),
                      .node = grant.value("node", host.value("hostname", "")),
                      .state = executor.at("state"),
                      .cores = executor.at("cores").get<CoreList>(),
                      .cores_leased = executor.at("cores_leased"),
                      .ends_in_ms = std::nullopt};
      if (grant.contains("ends_in_ms")) share.ends_in_ms = grant.at("ends_in_ms");
      found.push_back(std::move(share));
    }
  std::ranges::sort(found, {}, [](const NodeShare& one) { return std::tie(one.job, one.node); });
  return found;
}

}  // namespace orchid::share
