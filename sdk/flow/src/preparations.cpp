#include "flow_run/preparations.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

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

}  // namespace

std::vector<std::string> functions_ahead(const Plan& plan, const PlannedNode& node) {
  std::vector<std::string> functions;
  for (const PlannedCall* call :
       {&node.partition, &node.main, &node.if_false, &node.until, &node.merge}) {
    if (!call->exists()) continue;
    const std::string& exact = exact_name(plan, call->function);
    if (std::ranges::find(functions, exact) == functions.end()) functions.push_back(exact);
  }
  return functions;
}

void Preparations::add(const std::string& flow, const std::vector<std::string>& functions,
                       std::vector<DataId> data) {
  const auto now = std::chrono::steady_clock::now();
  if (loaded_.size() >= most_remembered) loaded_.clear();
  for (const std::string& function : functions) {
    const auto known = loaded_.find(function);
    if (known != loaded_.end() && now - known->second < load_again) continue;
    if (!put({.flow = flow, .function = function, .data = {}})) return;
    loaded_.insert_or_assign(function, now);
  }
  if (data.size() < 2) return;  // a call runs where its one object is
  data.resize(std::min(data.size(), most_objects));
  (void)put({.flow = flow, .function = {}, .data = std::move(data)});
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
      bring_together(next.data);
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

void Preparations::bring_together(const std::vector<DataId>& data) {
  try {
    std::vector<DataInfo> objects;
    for (const DataId& one : data) objects.push_back(client_.describe_data(to_string(one)));
    const std::string host = host_with_most(objects);
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
  std::map<std::string, std::uint64_t> bytes;
  for (const DataInfo& one : objects)
    for (const std::string& host : one.hosts) bytes[host] += one.size;
  const auto most = std::ranges::max_element(bytes, {}, [](const auto& one) { return one.second; });
  return most == bytes.end() ? std::string() : most->first;
}

}  // namespace orchid::flow
