// flow_run/preparations.h: what nodes need that come next is brought to where they may run.
#pragma once
#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "flow/engine.h"
#include "flow/optimiser.h"
#include "flow/plan.h"
#include "foundation/background_thread.h"
#include "orchid/client.h"

namespace orchid::flow {

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

  /// Workers load what the node calls, each function once a minute at most. Of several objects
  /// copies go to the host that has most of their bytes, since a call that is given them runs
  /// there. Where the node says which hosts it may use, it is one of these. If it names a cluster
  /// nothing is loaded: a worker of another one might do it.
  void add(const std::string& flow, const Plan& plan, const PlannedNode& node,
           std::vector<DataId> data);
  /// What was not begun for the flow is not done.
  void forget(const std::string& flow);

 private:
  struct Waiting {
    std::string flow;
    std::string function;  // empty: `data` is to be brought together
    std::vector<DataId> data;
    Constraints constraints{};  // of the hosts to which it may be brought
  };
  /// False: there is no room.
  [[nodiscard]] bool put(Waiting next);
  void do_all();
  void load(const std::string& function);
  void bring_together(const Waiting& objects);
  [[nodiscard]] std::string host_for(const std::vector<DataInfo>& objects,
                                     const Constraints& constraints);

  Client& client_;
  std::map<std::string, std::chrono::steady_clock::time_point> loaded_;  // and when
  std::atomic<bool> ends_{false};
  std::mutex mutex_;  // guards the next two
  std::deque<Waiting> waiting_;
  bool is_working_ = false;
  BackgroundThread thread_;  // last: it uses the others
};

/// Of some objects, and where they are: the host with most of the bytes; of those with as many the
/// first. Empty: none has any.
[[nodiscard]] std::string host_with_most(const std::vector<DataInfo>& objects);

/// The same among `hosts`; if none of them has any, the one with most free cores. Empty: there is
/// no host.
[[nodiscard]] std::string host_with_most(const std::vector<DataInfo>& objects,
                                         const std::vector<HostSituation>& hosts);

}  // namespace orchid::flow
