// flow_run/preparations.h: what nodes need that come next is brought to where they may run.
#pragma once
#include <atomic>
#include <chrono>
#include <compare>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "flow/engine.h"
#include "flow/plan.h"
#include "foundation/background_thread.h"
#include "orchid/client.h"

namespace orchid::flow {

/// Calls that are to come: of what, and what decides where they run.
struct CallsAhead {
  std::string function;  // its exact name
  std::string host_kind{};
  std::string device{};
  std::string cluster{};
  std::vector<DataId> data{};
  friend auto operator<=>(const CallsAhead&, const CallsAhead&) = default;
};

/// Those of a node, one for each function that it calls. `data`: what is there of the objects at
/// its ports, in their order. A function is given what it takes of these, or all of them while some
/// are missing; at most 16.
[[nodiscard]] std::vector<CallsAhead> calls_ahead(const Plan& plan, const PlannedNode& node,
                                                  const std::vector<DataId>& data);

/// Used by one thread, and does its work on another one. What cannot be done is left: calls do it
/// themselves when they run. What was not begun when it ends is not done, nor what does not fit
/// into its queue.
class Preparations {
 public:
  /// `client` outlives it.
  explicit Preparations(Client& client) : client_(client) {}
  ~Preparations() { ends_ = true; }
  Preparations(const Preparations&) = delete;
  Preparations& operator=(const Preparations&) = delete;

  /// The gateway decides where such calls would run, as it does for the calls: there a worker loads
  /// the function, and there their data comes together. Of the same calls it is asked once a minute
  /// at most.
  void add(const std::string& flow, std::vector<CallsAhead> calls);
  /// What was not begun for the flow is not done.
  void forget(const std::string& flow);

 private:
  struct Waiting {
    std::string flow;
    CallsAhead calls;
  };
  /// False: there is no room.
  [[nodiscard]] bool put(Waiting next);
  void do_all();
  void prepare(const CallsAhead& calls);

  Client& client_;
  std::map<CallsAhead, std::chrono::steady_clock::time_point> asked_;  // and when
  std::atomic<bool> ends_{false};
  std::mutex mutex_;  // guards the next two
  std::deque<Waiting> waiting_;
  bool is_working_ = false;
  BackgroundThread thread_;  // last: it uses the others
};

}  // namespace orchid::flow
