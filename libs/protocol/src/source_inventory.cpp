#include "protocol/source_inventory.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

namespace orchid {
namespace {

constexpr std::size_t most_parts = 4096;  // 1 GiB of usual lines

std::unexpected<Failure> misfit(const std::string& what) {
  return fail(ErrorCode::bad_request, "the source's update " + what);
}

}  // namespace

Result<bool> SourceInventory::apply(SourceUpdate update) {
  const bool begins_anew = update.full && (parts_.empty() || !parts_.front().full);
  const auto refuse = [this](std::unexpected<Failure> failure) {
    parts_.clear();
    lost_ = true;
    return failure;
  };
  const bool has_begun = complete_ || !parts_.empty();
  if (!begins_anew && (lost_ || !has_begun))
    return refuse(misfit("is not a full one, and nothing is known that it could change"));
  if (last_sequence_ != 0 && update.sequence != last_sequence_ + 1) {
    const std::string expected = std::to_string(last_sequence_ + 1);
    last_sequence_ = update.sequence;
    if (!begins_anew)
      return refuse(misfit("has number " + std::to_string(update.sequence) + " instead of " +
                           expected + ": a line was lost"));
  }
  last_sequence_ = update.sequence;
  if (begins_anew) {
    parts_.clear();
    lost_ = false;
  }
  if (!parts_.empty() && parts_.front().full != update.full)
    return refuse(misfit("is full in one line and not in the next"));
  if (parts_.size() == most_parts) return refuse(misfit("has no end"));
  const bool more = update.more;
  parts_.push_back(std::move(update));
  if (more) return false;
  SourceUpdate whole = std::move(parts_.front());
  for (std::size_t i = 1; i < parts_.size(); ++i) {
    SourceUpdate& part = parts_[i];
    whole.time = part.time;
    std::ranges::move(part.nodes, std::back_inserter(whole.nodes));
    std::ranges::move(part.nodes_gone, std::back_inserter(whole.nodes_gone));
    std::ranges::move(part.jobs, std::back_inserter(whole.jobs));
    std::ranges::move(part.jobs_gone, std::back_inserter(whole.jobs_gone));
    std::ranges::move(part.forecasts, std::back_inserter(whole.forecasts));
  }
  parts_.clear();
  if (auto checked = check(whole); !checked)
    return refuse(std::unexpected(std::move(checked.error())));
  take(std::move(whole));
  return true;
}

/// A name twice, or one that goes and was not there, means that the two sides do not agree.
Result<void> SourceInventory::check(const SourceUpdate& update) const {
  std::set<std::string_view> named;
  for (const SourceNode& node : update.nodes)
    if (!named.insert(node.name).second) return misfit("has node '" + node.name + "' twice");
  for (const std::string& name : update.nodes_gone)
    if (update.full || !nodes_.contains(name) || named.contains(name))
      return misfit("takes away node '" + name + "', which is not there");
  std::set<std::uint64_t> jobs;
  for (const SourceJob& job : update.jobs)
    if (!jobs.insert(job.id).second) return misfit("has job " + std::to_string(job.id) + " twice");
  for (const std::uint64_t id : update.jobs_gone)
    if (update.full || !jobs_.contains(id) || jobs.contains(id))
      return misfit("takes away job " + std::to_string(id) + ", which is not there");
  for (const SourceForecast& forecast : update.forecasts)
    if (!named.contains(forecast.node) && (update.full || !nodes_.contains(forecast.node)))
      return misfit("has a forecast for '" + forecast.node + "', which is not there");
  return {};
}

void SourceInventory::take(SourceUpdate update) {
  if (update.full) {
    nodes_.clear();
    jobs_.clear();
    forecasts_.clear();
    complete_ = true;
  }
  time_ = update.time;
  for (const std::string& name : update.nodes_gone) {
    nodes_.erase(name);
    forecasts_.erase(name);
  }
  for (SourceNode& node : update.nodes) {
    std::string name = node.name;
    nodes_.insert_or_assign(std::move(name), std::move(node));
  }
  for (const std::uint64_t id : update.jobs_gone) jobs_.erase(id);
  for (SourceJob& job : update.jobs) jobs_.insert_or_assign(job.id, std::move(job));
  for (SourceForecast& forecast : update.forecasts)
    forecasts_.insert_or_assign(std::move(forecast.node), std::move(forecast.windows));
}

}  // namespace orchid
