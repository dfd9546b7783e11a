#include "flow_run/preparations.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "flow/usable_hosts.h"
#include "flow_run/host_looks.h"
#include "protocol/data_id.h"

namespace orchid::flow {
namespace {

/// Objects of one node that are looked at.
constexpr std::size_t most_objects = 16;
/// A worker that has loaded a function may have gone by then.
constexpr std::chrono::minutes load_again{1};
constexpr std::size_t most_remembered = 4096;
/// Functions, and nodes' objects; more come too late for their calls.
constexpr std::size_t most_waiting = 64;

using BytesAt = std::map<std::string, std::uint64_t>;  // by the host's name

BytesAt bytes_at_hosts(const std::vector<DataInfo>& objects) {
  BytesAt bytes;
  for (const DataInfo& one : objects)
    for (const std::string& host : one.hosts) bytes[host] += one.size;
  return bytes;
}

/// The exact names of what a node calls, each once. None if it names a cluster: a worker of another
/// one might load them.
std::vector<std::string> functions_ahead(const Plan& plan, const PlannedNode& node) {
  std::vector<std::string> functions;
  if (!node.constraints.cluster.empty()) return functions;
  for (const PlannedCall* call :
       {&node.partition, &node.main, &node.if_false, &node.until, &node.merge}) {
    if (!call->exists()) continue;
    const std::string& exact = exact_name(plan, call->function);
    if (std::ranges::find(functions, exact) == functions.end()) functions.push_back(exact);
  }
  return functions;
}

}  // namespace

void Preparations::add(const std::string& flow, const Plan& plan, const PlannedNode& node,
                       std::vector<DataId> data) {
  const auto now = std::chrono::steady_clock::now();
  if (loaded_.size() >= most_remembered) loaded_.clear();
  for (const std::string& function : functions_ahead(plan, node)) {
    const auto known = loaded_.find(function);
    if (known != loaded_.end() && now - known->second < load_again) continue;
    if (!put({.flow = flow, .function = function, .data = {}})) return;
    loaded_.insert_or_assign(function, now);
  }
  // A call that may run anywhere does so where its one object is.
  if (data.size() < (chooses_hosts(node.constraints) ? 1 : 2)) return;
  data.resize(std::min(data.size(), most_objects));
  (void)put(
      {.flow = flow, .function = {}, .data = std::move(data), .constraints = node.constraints});
}

void Preparations::forget(const std::string& flow) {
  const std::lock_guard lock(mutex_);
  std::erase_if(waiting_, [&](const Waiting& one) {
    if (one.flow != flow) return false;
    loaded_.erase(one.function);  // another flow may want it
    return true;
  });
}

bool Preparations::put(Waiting next) {
  const std::lock_guard lock(mutex_);
  if (waiting_.size() >= most_waiting) return false;
  waiting_.push_back(std::move(next));
  if (is_working_) return true;
  is_working_ = true;
  thread_.run([this] { do_all(); });
  return true;
}

void Preparations::do_all() {
  std::unique_lock lock(mutex_);
  while (!ends_ && !waiting_.empty()) {
    const Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    if (next.function.empty())
      bring_together(next);
    else
      load(next.function);
    lock.lock();
  }
  is_working_ = false;
}

void Preparations::load(const std::string& function) {
  try {
    client_.load_ahead(function);
  } catch (const Error&) {  // the first call loads it
  }
}

std::string Preparations::host_for(const std::vector<DataInfo>& objects,
                                   const Constraints& constraints) {
  if (!chooses_hosts(constraints)) return host_with_most(objects);
  return host_with_most(objects, usable_hosts(constraints, look_at_hosts(client_)));
}

void Preparations::bring_together(const Waiting& next) {
  try {
    std::vector<DataInfo> objects;
    for (const DataId& one : next.data) objects.push_back(client_.describe_data(to_string(one)));
    const std::string host = host_for(objects, next.constraints);
    if (host.empty()) return;
    for (const DataInfo& one : objects) {
      const auto is_at = [&](const std::vector<std::string>& hosts) {
        return std::ranges::find(hosts, host) != hosts.end();
      };
      if (ends_) return;
      if (!is_at(one.hosts) && !is_at(one.arriving_at))
        (void)client_.copy_data(one.id, {.host = host});
    }
  } catch (const Error&) {  // the call waits for its copies
  }
}

std::string host_with_most(const std::vector<DataInfo>& objects) {
  const BytesAt bytes = bytes_at_hosts(objects);
  const auto most = std::ranges::max_element(bytes, {}, [](const auto& one) { return one.second; });
  return most == bytes.end() ? std::string() : most->first;
}

std::string host_with_most(const std::vector<DataInfo>& objects,
                           const std::vector<HostSituation>& hosts) {
  const BytesAt bytes = bytes_at_hosts(objects);
  const auto worth = [&](const HostSituation& host) {
    const auto found = bytes.find(host.name);
    return std::pair(found == bytes.end() ? 0 : found->second, host.cores_free);
  };
  const auto most = std::ranges::max_element(hosts, {}, worth);
  return most == hosts.end() ? std::string() : most->name;
}

}  // namespace orchid::flow
