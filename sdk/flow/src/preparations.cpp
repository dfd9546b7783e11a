#include "flow_run/preparations.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "flow_run/flow_data.h"
#include "module/signature.h"
#include "protocol/data_id.h"

namespace orchid::flow {
namespace {

/// Objects of one node that are looked at.
constexpr std::size_t most_objects = 16;
/// A worker that has loaded a function may have gone by then.
constexpr std::chrono::minutes ask_again{1};
constexpr std::size_t most_remembered = 4096;
/// More come too late for their calls.
constexpr std::size_t most_waiting = 64;

std::size_t data_arguments(const PlannedCall& call) {
  const auto signature = module::parse_signature(call.signature);
  return signature ? signature->data_arguments() : 0;
}

/// Of the data at the node's ports, what a call of the function is given.
std::vector<DataId> data_of_call(const PlannedNode& node, const PlannedCall& call,
                                 const std::vector<DataId>& data) {
  const std::size_t wanted = data_arguments(call);
  if (wanted == 0) return {};
  std::vector<std::uint32_t> ports;  // those with data
  for (std::uint32_t port = 0; port < node.ports.size(); ++port)
    if (node.ports[port].type.is_data()) ports.push_back(port);
  std::vector<DataId> given = data;
  if (data.size() == ports.size()) {
    given.clear();
    const auto take = [&](std::uint32_t port) {
      const auto found = std::ranges::find(ports, port);
      if (found != ports.end())
        given.push_back(data[static_cast<std::size_t>(found - ports.begin())]);
    };
    for (const std::uint32_t port : call.ports) take(port);
    // What it is about is at no port of its own: the first state of an iteration is at the node's.
    if (given.size() < wanted && std::ranges::find(call.ports, 0U) == call.ports.end()) take(0);
  }
  given.resize(std::min(given.size(), most_objects));
  return given;
}

}  // namespace

std::vector<CallsAhead> calls_ahead(const Plan& plan, const PlannedNode& node,
                                    const std::vector<DataId>& data) {
  std::vector<CallsAhead> all;
  for (const PlannedCall* call :
       {&node.partition, &node.main, &node.if_false, &node.until, &node.merge}) {
    if (!call->exists()) continue;
    CallsAhead one{.function = exact_name(plan, call->function),
                   .host_kind = node.constraints.kind,
                   .device = node.constraints.device,
                   .cluster = node.constraints.cluster,
                   .data = data_of_call(node, *call, data)};
    if (std::ranges::find(all, one) == all.end()) all.push_back(std::move(one));
  }
  return all;
}

void Preparations::add(const std::string& flow, std::vector<CallsAhead> calls) {
  const auto now = std::chrono::steady_clock::now();
  if (asked_.size() >= most_remembered) asked_.clear();
  for (CallsAhead& one : calls) {
    const auto known = asked_.find(one);
    if (known != asked_.end() && now - known->second < ask_again) continue;
    if (!put({.flow = flow, .calls = one})) return;
    asked_.insert_or_assign(std::move(one), now);
  }
}

void Preparations::forget(const std::string& flow) {
  const std::lock_guard lock(mutex_);
  std::erase_if(waiting_, [&](const Waiting& one) {
    if (one.flow != flow) return false;
    asked_.erase(one.calls);  // another flow may want it
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
    prepare(next.calls);
    lock.lock();
  }
  is_working_ = false;
}

void Preparations::prepare(const CallsAhead& calls) {
  try {
    client_.load_ahead(calls.function, {.host_kind = calls.host_kind,
                                        .device = calls.device,
                                        .cluster = calls.cluster,
                                        .data = references_to(calls.data)});
  } catch (const Error&) {  // the first call loads it, and waits for its data
  }
}

}  // namespace orchid::flow
