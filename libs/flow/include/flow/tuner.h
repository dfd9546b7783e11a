// flow/tuner.h: asks a flow's optimisers. It sees what the engine is told and what it does, learns
// how long functions take, and makes of what each optimiser says one decision, which its driver
// gives to the engine as an event. It has no thread and looks at no clock.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "flow/engine.h"
#include "flow/optimiser.h"
#include "flow/plan.h"

namespace orchid::flow {

class HostSpeeds;
class KnownObjects;
class VariantBook;

/// Owned by one thread. The plan outlives it.
class Tuner {
 public:
  /// In the order in which they decide: what a later one says of the same counts.
  Tuner(const Plan& plan, std::vector<std::unique_ptr<Optimiser>> optimisers);
  ~Tuner();
  Tuner(const Tuner&) = delete;
  Tuner& operator=(const Tuner&) = delete;

  void see(const Action& action, Time now);
  void see(const Event& event, Time now);
  /// As they are before the flow has workers: its own cores are free, and draw nothing yet.
  void set_hosts(std::vector<HostSituation> hosts);
  /// As they are now, while it runs; the first time as above.
  void see_hosts(std::vector<HostSituation> hosts);

  /// Objects at the ports of nodes that run or come next, and that it wants to know of; at most 64.
  /// Of nodes that have changed, each is looked at once; and of all when hosts were seen.
  [[nodiscard]] std::vector<DataId> wanted_objects(const Engine& engine);
  /// False: there are none.
  [[nodiscard]] bool may_want_objects() const { return !to_look_at_.empty(); }
  /// What was found of them.
  void see_objects(std::vector<ObjectSituation> objects);

  /// What flows before this one have learned of variants, before it begins; and what they and it
  /// have learned of those that it has run.
  void set_kept(std::vector<KeptVariants> kept);
  [[nodiscard]] std::vector<KeptVariants> learned() const;

  struct Room {
    std::uint32_t workers = 1;
    std::uint32_t window = 1;
  };
  /// What the engine is to be told, if there is something new: when there are other nodes than
  /// there were, and as times become known. Between two events of the engine.
  [[nodiscard]] std::optional<Decided> decide(const Engine& engine, const Room& room, Time now);

  /// What is wrong with optimisers, since the last time; each is told once. `speed` has taken the
  /// place of those.
  [[nodiscard]] std::vector<std::string> take_troubles();
  /// By decisions that the engine was told: why the node is treated as it is, by each optimiser
  /// that has a say; empty: none has.
  [[nodiscard]] const std::string& why(std::uint32_t node) const;

  [[nodiscard]] Situation situation(const Engine& engine, const Room& room) const;

 private:
  struct Open {
    std::uint32_t node = 0;
    const PlannedCall* call = nullptr;  // of the plan; null: an object is kept
    std::string function;
    std::uint64_t pieces = 1;
    bool gives_data = false;
    std::vector<DataId> data{};
    Device device = Device::any;
    std::optional<std::uint32_t> variant{};  // of the node's function, if it tries them
    Time started{};
  };
  void add_coming(const Engine& engine, Situation& all) const;
  void find_running(const Engine& engine);
  void begins(std::uint32_t node);
  void starts(const StartCall& start, Time now);
  std::optional<Open> closes(std::uint64_t number);
  void look_at(std::uint32_t node);
  void look_behind(std::uint32_t node);
  [[nodiscard]] bool is_awaited(const Engine& engine) const;
  void learn_of_result(const Open& call, const Bytes& output);
  void learn(FunctionTimes& times, const Open& call, Time run_time, Time now);
  void compare(Open& call, const Answered& answered, Time now);
  [[nodiscard]] bool is_due(Time now) const;
  void rank(const Engine& engine, const Room& room);
  [[nodiscard]] bool has_news(const Decided& decided) const;
  [[nodiscard]] Decided ask_all(const Situation& situation);

  const Plan& plan_;
  std::vector<std::unique_ptr<Optimiser>> optimisers_;
  std::unique_ptr<KnownObjects> objects_;
  std::unique_ptr<VariantBook> variants_;
  std::unique_ptr<HostSpeeds> speeds_;
  bool objects_changed_ = false;
  std::vector<bool> is_given_data_;  // by node
  /// Of those, the ones at whose ports there may be objects that it does not know.
  std::set<std::uint32_t> to_look_at_;
  std::vector<HostSituation> first_look_;
  std::vector<HostSituation> hosts_;  // as of the last look, with what is the flow's own as free
  std::uint32_t workers_ = 1;         // that it had when it was last asked
  bool hosts_changed_ = false;
  std::unordered_map<std::uint64_t, Open> open_;  // by the number of the call
  /// By function and FunctionTimes::host_kind.
  std::map<std::pair<std::string, std::string>, FunctionTimes> times_;
  std::set<std::uint32_t> running_;
  std::vector<double> ranks_;     // of each node, seconds to the end
  std::uint64_t calls_seen_ = 0;  // that have ended
  std::uint64_t ask_at_calls_ = 1;
  bool nodes_changed_ = true;
  /// Run, start no call before it is said where, and no optimiser was shown them yet.
  std::set<std::uint32_t> undecided_;
  bool has_looked_ = false;  // at nodes that run from before the flow went on
  bool replaced_ = false;    // `speed` has taken somebody's place
  std::optional<Time> asked_;
  std::optional<std::uint32_t> open_calls_;
  std::map<std::uint32_t, Advice> said_;  // that the engine was told, by node
  std::vector<std::string> troubles_;
};

/// What is wrong with a decision about the situation, in words for people; empty: nothing. A
/// library may say what it likes.
[[nodiscard]] std::string fault_of(const Decided& decided, const Situation& situation);

}  // namespace orchid::flow
