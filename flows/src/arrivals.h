// arrivals.h: what comes to the thread that owns the flows: requests, ends of calls, and what
// others have checked for it.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "calls_left.h"
#include "flow/engine.h"
#include "flow/optimiser.h"
#include "flow_submission.h"
#include "foundation/result.h"
#include "protocol/flow_messages.h"

namespace orchid::flows {

/// The gateway asks.
struct Asked {
  FlowRequest request;
  std::vector<std::byte> content;
};
/// A submission has been checked.
struct CheckedSubmission {
  std::string name;
  KnownVersions functions;
  ReadyFlow ready;
  std::vector<std::byte> plan;  // the same as bytes
};
struct Checked {
  FlowRequest request;
  std::vector<std::byte> content;
  Result<CheckedSubmission> result;
};
/// Of a call of a flow.
struct CallEnded {
  std::string flow;
  flow::Event event;
};
/// Hosts have been looked at; none: the gateway does not tell.
struct HostsSeen {
  std::vector<flow::HostSituation> hosts;
};
/// Objects of a flow have been looked at, as far as the gateway tells.
struct ObjectsSeen {
  std::string flow;
  std::vector<flow::ObjectSituation> objects;
};
/// Calls that the gateway had under way when this process began.
struct CallsFound {
  std::vector<CallLeft> calls;
};
/// There is nobody to run flows for.
struct GatewayGone {};
using Arrival =
    std::variant<Asked, Checked, CallEnded, HostsSeen, ObjectsSeen, CallsFound, GatewayGone>;

/// Any thread puts in; one takes out. The gateway has at most 1024 requests under way, and no more
/// calls end than are open.
class Arrivals {
 public:
  void put(Arrival arrival) {
    {
      const std::lock_guard lock(mutex_);
      all_.push_back(std::move(arrival));
    }
    filled_.notify_one();
  }
  /// All that there is, as soon as there is something; nothing after `patience`.
  [[nodiscard]] std::vector<Arrival> take(std::chrono::nanoseconds patience) {
    std::unique_lock lock(mutex_);
    filled_.wait_for(lock, patience, [this] { return !all_.empty(); });
    return std::exchange(all_, {});
  }

 private:
  std::mutex mutex_;
  std::condition_variable filled_;
  std::vector<Arrival> all_;  // guarded by mutex_
};

}  // namespace orchid::flows
