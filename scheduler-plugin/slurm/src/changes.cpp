#include "changes.h"

namespace orchid::slurm {
namespace {

/// Calls `changed` with what is new or another one, and `gone` with what is not there any more.
template <typename Map, typename Changed, typename Gone>
void compare(const Map& before, const Map& after, Changed changed, Gone gone) {
  for (const auto& [key, value] : after) {
    const auto found = before.find(key);
    if (found == before.end() || found->second != value) changed(key, value);
  }
  for (const auto& [key, value] : before)
    if (!after.contains(key)) gone(key);
}

}  // namespace

SourceUpdate everything_of(const Inventory& inventory) {
  SourceUpdate update = changes_between({}, inventory);
  update.full = true;
  return update;
}

SourceUpdate changes_between(const Inventory& before, const Inventory& after) {
  SourceUpdate update;
  compare(
      before.nodes, after.nodes,
      [&](const auto&, const SourceNode& node) { update.nodes.push_back(node); },
      [&](const std::string& name) { update.nodes_gone.push_back(name); });
  compare(
      before.jobs, after.jobs,
      [&](const auto&, const SourceJob& job) { update.jobs.push_back(job); },
      [&](std::uint64_t id) { update.jobs_gone.push_back(id); });
  // A forecast goes with its node.
  compare(
      before.forecasts, after.forecasts,
      [&](const std::string& node, const auto& windows) {
        update.forecasts.push_back({node, windows});
      },
      [](const std::string&) {});
  return update;
}

bool is_empty(const SourceUpdate& update) {
  return update.nodes.empty() && update.nodes_gone.empty() && update.jobs.empty() &&
         update.jobs_gone.empty() && update.forecasts.empty();
}

}  // namespace orchid::slurm
