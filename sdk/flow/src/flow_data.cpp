#include "flow_run/flow_data.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "protocol/limits.h"

namespace orchid::flow {

bool moves_data(const Plan& plan) {
  return std::ranges::any_of(plan.nodes, [](const PlannedNode& node) {
    return node.gives.is_data() || std::ranges::any_of(node.ports, [](const PlannedPort& port) {
             return port.type.is_data();
           });
  });
}

std::string data_id_of(Client& client, std::string_view reference) {
  if (parse_data_id(reference)) return std::string(reference);
  return client.describe_data(reference).id;
}

std::vector<std::string> references_to(const std::vector<DataId>& data) {
  std::vector<std::string> references;
  references.reserve(data.size());
  for (const DataId& one : data) references.push_back(to_string(one));
  return references;
}

void explain_large_input(std::size_t input_bytes, CallFailed& failed) {
  if (input_bytes <= limits::input_size.value) return;
  failed.message +=
      "; values of this flow pass through the gateway: let the nodes before this one give less, or "
      "a data object (a port of the type data<...>), which does not";
}

void find_lost(Client& client, const std::vector<DataId>& data, CallFailed& failed) {
  // A call that was accepted and whose data is lost later ends as a bad request.
  constexpr std::array<std::string_view, 3> may_be_for_data{"data_lost", "not_found",
                                                            "bad_request"};
  if (std::ranges::find(may_be_for_data, failed.outcome) == may_be_for_data.end()) return;
  for (const DataId& one : data) {
    try {
      if (client.describe_data(to_string(one)).state != "lost") continue;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::not_found && error.kind() != ErrorKind::data_lost) continue;
    }
    failed.lost.push_back(one);
  }
  if (!failed.lost.empty()) failed.outcome = "data_lost";
}

std::optional<Event> try_to_keep(Client& client, CallId call, const DataId& data,
                                 std::chrono::steady_clock::time_point give_up) {
  constexpr std::chrono::hours life{7 * 24};
  try {
    (void)client.keep_data(to_string(data), life);
    return Answered{.call = call, .output = {}};
  } catch (const Error& error) {
    const ErrorKind kind = error.kind();
    if (kind == ErrorKind::unreachable || kind == ErrorKind::timed_out ||
        kind == ErrorKind::no_capacity) {
      if (std::chrono::steady_clock::now() < give_up) return std::nullopt;
      return CallFailed{
          .call = call,
          .outcome = std::string(to_string(kind)),
          .message = "the data could not be kept as a file in time: " + error.message()};
    }
    const bool is_lost = kind == ErrorKind::data_lost || kind == ErrorKind::not_found;
    return CallFailed{.call = call,
                      .outcome = is_lost ? "data_lost" : std::string(to_string(kind)),
                      .message = error.message(),
                      .lost = is_lost ? std::vector{data} : std::vector<DataId>()};
  }
}

namespace {

enum class Presence : std::uint8_t { there, gone, unknown };

Presence presence_of(Client& client, const DataId& data) {
  try {
    return client.describe_data(to_string(data)).state == "lost" ? Presence::gone : Presence::there;
  } catch (const Error& error) {
    const bool is_told =
        error.kind() == ErrorKind::not_found || error.kind() == ErrorKind::data_lost;
    return is_told ? Presence::gone : Presence::unknown;
  }
}

/// Waits until all of them are as `wanted` says. False: not by then, or nobody waits any more.
class DataWait {
 public:
  DataWait(Client& client, const std::function<bool()>& pause) : client_(client), pause_(pause) {}

  template <typename Wanted>
  bool until(const std::vector<DataId>& all, Wanted wanted) {
    while (!std::ranges::all_of(
        all, [&](const DataId& one) { return wanted(presence_of(client_, one)); })) {
      if (std::chrono::steady_clock::now() >= give_up_) return false;
      is_wanted_ = pause_();
      if (!is_wanted_) return false;
    }
    return true;
  }
  [[nodiscard]] bool is_wanted() const { return is_wanted_; }

 private:
  static constexpr std::chrono::minutes patience{10};
  Client& client_;
  const std::function<bool()>& pause_;
  std::chrono::steady_clock::time_point give_up_ = std::chrono::steady_clock::now() + patience;
  bool is_wanted_ = true;
};

CallFailed returned(CallFailed failed) {
  failed.outcome = "data_returned";
  failed.message = "its data was away, and is there again";
  failed.lost.clear();
  return failed;
}

/// Of what was lost from sight the next attempt finds what there is; that is not told here.
bool may_be_unknown(const CallFailed& failed) {
  return failed.lost.empty() && failed.outcome == "no_capacity";
}

}  // namespace

std::optional<CallFailed> wait_for_data(Client& client, const CallsData& data, CallFailed failed,
                                        const std::function<bool()>& pause) {
  DataWait wait(client, pause);
  const auto is_unknown = [&](const DataId& one) {
    return presence_of(client, one) == Presence::unknown;
  };
  if (may_be_unknown(failed) && std::ranges::any_of(data.given, is_unknown)) {
    const bool is_known =
        wait.until(data.given, [](Presence is) { return is != Presence::unknown; });
    if (!is_known) return wait.is_wanted() ? std::optional(failed) : std::nullopt;
    for (const DataId& one : data.given)
      if (presence_of(client, one) == Presence::gone) failed.lost.push_back(one);
    if (failed.lost.empty()) return returned(std::move(failed));
    failed.outcome = "data_lost";
  }
  const auto in_file = [&data](const DataId& one) {
    return std::ranges::find(data.kept, one) != data.kept.end();
  };
  std::vector<DataId> away;
  std::ranges::copy_if(failed.lost, std::back_inserter(away), in_file);
  if (away.empty()) return failed;
  // The rest is made again meanwhile.
  if (away.size() < failed.lost.size()) {
    std::erase_if(failed.lost, in_file);
    return failed;
  }
  if (wait.until(away, [](Presence is) { return is == Presence::there; }))
    return returned(std::move(failed));
  return wait.is_wanted() ? std::optional(failed) : std::nullopt;
}

DataDrops::~DataDrops() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
}

/// False: it may be possible later.
bool DataDrops::try_to_drop(const DataId& data) {
  try {
    // What has a name may be somebody's: a function may give an object that it found.
    if (client_.describe_data(to_string(data)).name.empty()) client_.remove_data(to_string(data));
  } catch (const Error& error) {  // else it is gone, or goes with its time to live
    return error.kind() != ErrorKind::unreachable && error.kind() != ErrorKind::timed_out;
  }
  return true;
}

void DataDrops::drop(const DataId& data) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back({.data = data});
  if (is_working_) return;
  is_working_ = true;
  thread_.run([this] { drop_all(); });
}

/// One that fails goes to the end, so that it holds up no other. When this ends, the rest is still
/// tried up to the first failure: that of a flow that has just ended is mostly quick to delete.
void DataDrops::drop_all() {
  constexpr std::chrono::minutes patience{1};
  constexpr std::chrono::milliseconds pause{500};
  std::size_t failed = 0;  // in a row
  std::unique_lock lock(mutex_);
  while (!waiting_.empty()) {
    Waiting next = waiting_.front();
    if (ends_ && next.give_up) break;
    waiting_.pop_front();
    lock.unlock();
    const bool is_over = try_to_drop(next.data);
    const auto now = std::chrono::steady_clock::now();
    lock.lock();
    if (is_over) {
      failed = 0;
      continue;
    }
    if (ends_) break;
    if (!next.give_up) next.give_up = now + patience;
    if (now < *next.give_up) waiting_.push_back(next);
    if (++failed < waiting_.size()) continue;
    failed = 0;
    changed_.wait_for(lock, pause, [this] { return ends_; });
  }
  is_working_ = false;
}

}  // namespace orchid::flow
