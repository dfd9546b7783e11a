#include "pilots/situation.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "terminal/duration.h"

namespace orchid::cli {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// A pilot's executors, which are on one node or on several.
struct Joined {
  std::uint32_t cores = 0;
  std::uint32_t leased = 0;
  std::optional<milliseconds> ends_in;
};

std::map<std::uint64_t, Joined> joined_by_job(const json& hosts) {
  std::map<std::uint64_t, Joined> joined;
  for (const json& host : hosts.at("hosts"))
    for (const json& executor : host.at("executors")) {
      const json& grant = executor.at("grant");
      if (grant.value("source", "") != "pilot" || executor.value("state", "") != "connected")
        continue;
      Joined& one = joined[grant.value("job", std::uint64_t{0})];
      one.cores += static_cast<std::uint32_t>(executor.at("cores").size());
      one.leased += executor.value("cores_leased", 0U);
      if (grant.contains("ends_in_ms")) one.ends_in = milliseconds(grant["ends_in_ms"].get<long>());
    }
  return joined;
}

pilot::Pilot pilot_of(const pilot::PilotJob& job, const std::map<std::uint64_t, Joined>& joined,
                      MonotonicTime now) {
  pilot::Pilot one{.job = job.job,
                   .cores = job.cpus,
                   .runs = !job.waits(),
                   .ends = {},
                   .node = job.waits() ? "" : job.reason};
  if (const auto left = parse_duration(job.left); one.runs && left)
    one.ends = now + std::chrono::duration_cast<milliseconds>(*left);
  if (const auto found = joined.find(job.job); found != joined.end()) {
    one.joined = true;
    one.cores = found->second.cores;
    one.cores_used = found->second.leased;
    if (found->second.ends_in) one.ends = now + *found->second.ends_in;
  }
  return one;
}

/// All that is free now, until something of it goes; then what of it stays longer. What is planned
/// to begin at once may be a pilot of ours that waits for it, so it does not count as taken.
void add_holes(const json& node, std::vector<pilot::Hole>& holes) {
  const std::string name = node.value("name", "");
  std::uint32_t cores = node.value("cores_free", 0U);
  const json windows = node.value("forecast", json::array());
  for (const json& window : windows) {
    if (&window != &windows.front()) cores = std::min(cores, window.value("cores", 0U));
    if (cores == 0) return;
    pilot::Hole hole{.node = name, .cores = cores, .lasts = {}};
    if (window.contains("until_s")) hole.lasts = seconds(window["until_s"].get<long>());
    holes.push_back(std::move(hole));
  }
  if (windows.empty() && cores > 0)
    holes.push_back({.node = name, .cores = cores, .lasts = std::nullopt});
}

bool is_in(const json& node, const std::string& partition) {
  if (partition.empty()) return true;
  const json partitions = node.value("partitions", json::array());
  return partitions.empty() || std::ranges::find(partitions, json(partition)) != partitions.end();
}

}  // namespace

pilot::Situation situation_of(const json& hosts, const std::vector<pilot::PilotJob>& jobs,
                              const std::string& partition, MonotonicTime now) {
  pilot::Situation situation;
  situation.cores_wanted = static_cast<std::uint32_t>(std::min<std::uint64_t>(
      hosts.at("demand").value("cores_wanted", std::uint64_t{0}), 1U << 30));
  const auto joined = joined_by_job(hosts);
  for (const pilot::PilotJob& job : jobs) situation.pilots.push_back(pilot_of(job, joined, now));
  for (const json& cluster : hosts.value("clusters", json::array())) {
    if (cluster.value("state", "") != "current") continue;
    if (!situation.holes) situation.holes.emplace();
    for (const json& node : cluster.at("nodes"))
      if (node.value("state", "") != "unusable" && is_in(node, partition))
        add_holes(node, *situation.holes);
  }
  return situation;
}

}  // namespace orchid::cli
