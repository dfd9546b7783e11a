#include "invocations/following_runner.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "calls/worker_for.h"

namespace orchid::gateway {
namespace {

bool may_come(const Failure& why) {
  return why.code == ErrorCode::unreachable || why.code == ErrorCode::no_capacity;
}

}  // namespace

void FollowingRunner::start(Call call, CallDone done) {
  if (call.data == nullptr || call.is_asynchronous)
    return runner().start(std::move(call), std::move(done));
  go(std::make_shared<Following>(Following{.call = std::move(call), .done = std::move(done)}));
}

void FollowingRunner::go(const Pointer& one) {
  runner().start(Call(one->call),
                 [this, one](CallResult result) { returned(one, std::move(result)); });
}

void FollowingRunner::returned(const Pointer& one, CallResult result) {
  Call& call = one->call;
  const MonotonicTime now = clock_.now();
  const bool is_given_back =
      result.outcome == Outcome::no_capacity && result.refused == ErrorCode::data_elsewhere;
  if (!is_given_back) {
    result.timings.transfer += one->transfer;
    result.attempt += one->attempts;
    return one->done(std::move(result));
  }
  one->attempts += result.attempt;
  if (stopped_) return end(one, Outcome::cancelled, std::nullopt, "the gateway is stopping");
  if (now >= call.deadline) return end_late(one, result.message);
  const auto [group, is_new] = waiting_.try_emplace(
      Key{.tenant = call.tenant,
          .names = to_string(call.data),
          .version = call.version,
          .place = {.kind = call.kind, .device = call.device, .cluster = call.cluster}});
  group->second.calls.push_back(one);
  if (is_new) ask(group, true);
}

void FollowingRunner::ask(Groups::iterator group, bool is_first) {
  const Key& key = group->first;
  group->second.is_asked = true;
  find_(key.tenant, key.names, worker_for(*key.version, key.place),
        [this, key, is_first](CallDataFinder::Found data) {
          answered(key, is_first, std::move(data));
        });
}

void FollowingRunner::answered(const Key& key, bool is_first, CallDataFinder::Found data) {
  const auto group = waiting_.find(key);
  if (group == waiting_.end()) return;  // all have ended meanwhile
  group->second.is_asked = false;
  if (!data) {
    if (!may_come(data.error())) return end_all(key, data.error());
    group->second.why = std::move(data.error().message);
  } else if (!(*data)->waits_for.empty()) {
    group->second.why = "it waited for " + (*data)->waits_for;
  } else if (!is_first || (*data)->at != group->second.calls.front()->call.data->at) {
    go_all(key, *data);
  }  // else it was given back there a moment ago
}

/// One after the other, since whoever hears of an end may cancel another one. Those that are given
/// back at once wait for the next answer.
template <typename Do>
void FollowingRunner::take_all(const Key& key, Do do_with) {
  for (std::size_t left = waiting_.at(key).calls.size(); left > 0; --left) {
    const auto group = waiting_.find(key);
    if (group == waiting_.end()) return;
    const Pointer first = std::move(group->second.calls.front());
    group->second.calls.pop_front();
    if (group->second.calls.empty()) waiting_.erase(group);
    do_with(first);
  }
}

void FollowingRunner::go_all(const Key& key, const std::shared_ptr<const CallData>& data) {
  const MonotonicTime now = clock_.now();
  take_all(key, [&](const Pointer& one) {
    one->transfer += waited(*one, now);
    one->call.accepted = now;
    one->call.data = data;
    go(one);
  });
}

void FollowingRunner::end_all(const Key& key, const Failure& why) {
  take_all(key, [&](const Pointer& one) { end(one, Outcome::bad_request, why.code, why.message); });
}

/// Since it was last on its way.
std::chrono::microseconds FollowingRunner::waited(const Following& one, MonotonicTime now) {
  return std::chrono::duration_cast<std::chrono::microseconds>(now - one.call.accepted);
}

void FollowingRunner::end_late(const Pointer& one, const std::string& why) const {
  end(one, Outcome::deadline_exceeded, ErrorCode::timed_out,
      "the call has not begun by its deadline" + (why.empty() ? "" : ": " + why));
}

void FollowingRunner::end(const Pointer& one, Outcome outcome, std::optional<ErrorCode> code,
                          std::string message) const {
  one->call.version->calls.add(outcome);
  CallResult result;
  result.outcome = outcome;
  result.refused = code;
  result.message = std::move(message);
  result.attempt = one->attempts;
  result.timings.transfer = one->transfer + waited(*one, clock_.now());
  one->done(std::move(result));
}

void FollowingRunner::sweep() {
  const MonotonicTime now = clock_.now();
  std::vector<std::pair<Pointer, std::string>> late;
  std::vector<Key> unasked;
  for (auto& [key, group] : waiting_) {
    std::erase_if(group.calls, [&](const Pointer& one) {
      const bool is_late = one->call.deadline <= now;
      if (is_late) late.emplace_back(one, group.why);
      return is_late;
    });
    if (!group.is_asked && !group.calls.empty()) unasked.push_back(key);
  }
  std::erase_if(waiting_, [](const auto& entry) { return entry.second.calls.empty(); });
  // Whoever is told may start the next call.
  for (const auto& [one, why] : late) end_late(one, why);
  for (const Key& key : unasked)
    if (const auto group = waiting_.find(key); group != waiting_.end() && !group->second.is_asked)
      ask(group, false);
}

void FollowingRunner::cancel(const std::string& invocation) {
  for (auto group = waiting_.begin(); group != waiting_.end(); ++group) {
    std::list<Pointer>& calls = group->second.calls;
    const auto found = std::ranges::find_if(
        calls, [&](const Pointer& one) { return one->call.invocation == invocation; });
    if (found == calls.end()) continue;
    const Pointer one = std::move(*found);
    calls.erase(found);
    if (calls.empty()) waiting_.erase(group);
    return end(one, Outcome::cancelled, std::nullopt, "cancelled while it waited for its data");
  }
  runner().cancel(invocation);
}

void FollowingRunner::stop() {
  stopped_ = true;
  for (const auto& [key, group] : std::exchange(waiting_, {}))
    for (const Pointer& one : group.calls)
      end(one, Outcome::cancelled, std::nullopt, "the gateway is stopping");
}

std::size_t FollowingRunner::waiting() const {
  std::size_t calls = 0;
  for (const auto& [key, group] : waiting_) calls += group.calls.size();
  return calls;
}

}  // namespace orchid::gateway
