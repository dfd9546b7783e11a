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
  for (const SourceJob& job : update.jobs) {
    if (!jobs.insert(job.id).second) return misfit("has job " + std::to_string(job.id) + " twice");
    std::set<std::string_view> on;
    for (const SourceShare& share : job.shares)
      if (!on.insert(share.node).second)
        return misfit("has job " + std::to_string(job.id) + " twice on node '" + share.node + "'");
  }
  for (const std::uint64_t id : update.jobs_gone)
    if (update.full || !jobs_.contains(id) || jobs.contains(id))
      return misfit("takes away job " + std::to_string(id) + ", which is not there");
  for (const SourceForecast& forecast : update.forecasts)
    if (!named.contains(forecast.node) && (update.full || !nodes_.contains(forecast.node)))
      return misfit("has a forecast for '" + forecast.node + "', which is not there");
  return {};
}

std::vector<SourceInventory::JobPart> SourceInventory::jobs_on(const std::string& node) const {
  std::vector<JobPart> parts;
  const auto found = shares_on_.find(node);
  if (found == shares_on_.end()) return parts;
  for (const auto& [id, share] : found->second) {
    const SourceJob& job = jobs_.at(id);
    parts.push_back({&job, &job.shares[share]});
  }
  return parts;
}

const SourceNode* SourceInventory::only_node_with(const std::string& hostname) const {
  const auto found = names_by_hostname_.find(hostname);
  if (found == names_by_hostname_.end() || found->second.size() != 1) return nullptr;
  return &nodes_.at(*found->second.begin());
}

void SourceInventory::touch(const std::string& node) {
  if (touched_.all) return;
  touched_.names.insert(node);
  if (const auto found = nodes_.find(node); found != nodes_.end())
    touched_.names.insert(found->second.hostname);
}

void SourceInventory::remove_node(const std::string& name) {
  touch(name);
  const auto node = nodes_.find(name);
  if (node == nodes_.end()) return;
  const auto hostname = names_by_hostname_.find(node->second.hostname);
  hostname->second.erase(name);
  if (hostname->second.empty()) names_by_hostname_.erase(hostname);
  nodes_.erase(node);
}

void SourceInventory::enter(SourceNode node) {
  remove_node(node.name);
  names_by_hostname_[node.hostname].insert(node.name);
  const std::string name = node.name;
  nodes_.emplace(name, std::move(node));
  touch(name);
}

void SourceInventory::remove_job(std::uint64_t id) {
  const auto job = jobs_.find(id);
  if (job == jobs_.end()) return;
  for (const SourceShare& share : job->second.shares) {
    touch(share.node);
    const auto node = shares_on_.find(share.node);
    if (node == shares_on_.end()) continue;
    std::erase_if(node->second, [id](const ShareNumber& one) { return one.job == id; });
    if (node->second.empty()) shares_on_.erase(node);
  }
  jobs_.erase(job);
}

void SourceInventory::enter(SourceJob job) {
  remove_job(job.id);
  for (std::size_t i = 0; i < job.shares.size(); ++i) {
    touch(job.shares[i].node);
    auto& here = shares_on_[job.shares[i].node];
    const ShareNumber number{.job = job.id, .share = i};
    here.insert(std::ranges::upper_bound(here, number), number);
  }
  const std::uint64_t id = job.id;
  jobs_.emplace(id, std::move(job));
}

void SourceInventory::take(SourceUpdate update) {
  touched_ = {.all = update.full, .names = {}};
  if (update.full) {
    nodes_.clear();
    jobs_.clear();
    forecasts_.clear();
    shares_on_.clear();
    names_by_hostname_.clear();
    complete_ = true;
  }
  time_ = update.time;
  for (const std::string& name : update.nodes_gone) {
    remove_node(name);
    forecasts_.erase(name);
  }
  for (SourceNode& node : update.nodes) enter(std::move(node));
  for (const std::uint64_t id : update.jobs_gone) remove_job(id);
  for (SourceJob& job : update.jobs) enter(std::move(job));
  for (SourceForecast& forecast : update.forecasts)
    forecasts_.insert_or_assign(std::move(forecast.node), std::move(forecast.windows));
}

}  // namespace orchid
