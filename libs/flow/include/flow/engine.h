// flow/engine.h: what happens next in a flow that runs: events in, actions out. It starts no call,
// has no thread and looks at no clock; drivers do.
//
//   Engine engine = …Engine::start(plan, inputs, {})…;
//   do(engine.apply(Tick{}, now));            // the first calls
//   do(engine.apply(Answered{…}, now));       // and so on, until engine.outcome() says its end
//
// Each node has one visible outcome, and gives one value, whatever is lost, comes twice or comes
// late: an answer counts only if its call is open.
#pragma once
#include <chrono>
#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "flow/devices.h"
#include "flow/plan.h"
#include "flow/values.h"
#include "flow/variants.h"
#include "foundation/result.h"

namespace orchid::flow {

/// Since a moment that the driver chooses.
using Time = std::chrono::nanoseconds;

/// Of one attempt. `run` is the driver's: no earlier engine of the same flow had it, so that no
/// answer to a call of theirs is taken for one of another call.
struct CallId {
  std::uint32_t run = 0;
  std::uint64_t number = 0;
  friend bool operator==(const CallId&, const CallId&) = default;
};

// ---- events ----

struct Answered {
  CallId call;
  Bytes output;
  Time run_time{};     // of the function on its worker; 0: not known. The engine looks at neither:
  std::string host{};  // of that worker, as the gateway tells of it; empty: not known.
};
/// The call has ended without output, or was lost with its worker. `outcome` as on the wire, or
/// `data_returned`: it could not be made while objects of `StartCall::kept` were away, which are
/// there again; it is made once more, and that is no attempt.
struct CallFailed {
  CallId call;
  std::string outcome;
  std::string message;
  /// With `data_lost`: which of the objects that it was given are gone; none: not known.
  std::vector<DataId> lost{};
};
/// Time has passed, or the driver has begun.
struct Tick {};
/// Somebody wants the flow to end.
struct Cancel {};
/// It goes on from where it failed or was cancelled, with fresh attempts.
struct GoOn {};
/// What an optimiser says of a node.
struct Advice {
  std::uint32_t node = 0;
  /// Calls of nodes with a higher one start first; those that are equal take turns.
  std::optional<std::int64_t> priority{};
  /// Of a map in runs: a call has so many pieces at most; 0: nothing is said.
  std::uint64_t pieces = 0;
  /// The same: no call has more than this part of what is left, 1/share, rounded up; 0: no bound.
  std::uint32_t share = 0;
  /// Of a node that chooses between cores and GPUs (PlannedNode::cores_of_call), which starts no
  /// call before this is said.
  std::optional<Devices> devices{};
  /// Of a node that tries variants (PlannedNode::chooses_variant), by devices; as above.
  std::vector<VariantTurns> variants{};
  /// Of a node that has not begun: its code, and the objects that it will be given as far as they
  /// are there, are brought to where it may run. Counts up as more of them are there; 0: nothing is
  /// said.
  std::uint32_t prepare = 0;
  std::string why{};  // for people
  friend bool operator==(const Advice&, const Advice&) = default;
};
/// Optimisers have decided. What they do not name stays as it was.
struct Decided {
  std::vector<Advice> nodes;
  std::optional<std::uint32_t> open_calls{};  // so many at most, within the driver's window
  friend bool operator==(const Decided&, const Decided&) = default;
};
using Event = std::variant<Answered, CallFailed, Tick, Cancel, GoOn, Decided>;

// ---- actions ----

enum class NodeState : std::uint8_t { waiting, running, done, failed, cancelled };
[[nodiscard]] std::string_view to_string(NodeState state);

/// What a call is for. It stays the same when the flow goes on from a snapshot after a crash, so
/// that who looks for such a call finds the one that was made then.
struct WorkId {
  std::uint32_t node = 0;
  std::uint32_t stage = 0;       // of the node: partition, pieces, merge
  std::uint32_t generation = 0;  // how often the flow has gone on from its end
  std::uint64_t step = 0;        // of an iteration; level of a reduction
  std::uint64_t index = 0;       // of a piece or a group
  std::uint32_t round = 0;       // how often the node was begun anew, since data was lost
  bool judges = false;           // it asks `until` of the result
  bool keeps = false;            // it keeps an object as a file
  friend auto operator<=>(const WorkId&, const WorkId&) = default;
};

struct StartCall {
  CallId call;
  std::uint32_t node = 0;
  WorkId work;
  unsigned attempt = 1;
  const PlannedCall* function = nullptr;  // of the plan
  Bytes input;
  std::vector<DataId> data{};  // that it is given, in the order of its arguments
  std::uint64_t pieces = 1;    // of a map in runs, so many are in it
  /// Nothing is called: the object in `data` is to be kept as a file. The answer has no output.
  bool keeps = false;
  /// Of `data`, those that are in files: they may be away for a while, and are not lost by that.
  std::vector<DataId> kept{};
  Device device = Device::any;
};
/// Its answer is not wanted any more. Of a flow that has ended early it still counts if it comes.
struct StopCall {
  CallId call;
};
struct NodeChanged {
  std::uint32_t node = 0;
  NodeState state = NodeState::waiting;
};
/// An attempt failed. `again`: another one follows.
struct AttemptFailed {
  std::uint32_t node = 0;
  std::string part;  // of the node: "piece 17 of 26", "step 3"; empty: all of it
  unsigned attempt = 1;
  std::string outcome;
  std::string message;
  bool again = false;
};
/// The driver applies a Tick then. The last one said counts.
struct WakeAt {
  Time at{};
};
/// A node has made this object, and nobody needs it any more.
struct DropData {
  DataId data;
};
/// The node has not begun, and will: see Advice::prepare. What is not done in time is of no harm.
struct Prepare {
  std::uint32_t node = 0;
  std::vector<DataId> data{};  // of those that it will be given
};
/// Nothing more will happen by itself.
struct Ended {};
using Action =
    std::variant<StartCall, StopCall, NodeChanged, AttemptFailed, WakeAt, DropData, Prepare, Ended>;

enum class FlowOutcome : std::uint8_t { running, done, failed, cancelled };
[[nodiscard]] std::string_view to_string(FlowOutcome outcome);

struct NodeProgress {
  NodeState state = NodeState::waiting;
  std::uint64_t done = 0;  // pieces, groups or steps
  std::uint64_t total = 0;
};

struct EngineOptions {
  std::uint32_t window = 64;  // calls that are open at once
  std::uint32_t run = 0;      // see CallId
  std::string key{};          // a name of this flow's run, which its snapshots have
};

/// Owned by one thread. The plan outlives it. Of a map it holds the open calls and what they gave:
/// one object for each of its pieces is never made.
class Engine {
 public:
  /// `inputs` as the plan has them. Errors: `bad_request`, if a value does not fit its type.
  [[nodiscard]] static Result<Engine> start(const Plan& plan, std::vector<Value> inputs,
                                            const EngineOptions& options);
  /// Goes on from a snapshot: calls that were open then are made again. Errors: `bad_request`: it
  /// is damaged, or of another flow.
  [[nodiscard]] static Result<Engine> resume(const Plan& plan, std::string_view snapshot,
                                             const EngineOptions& options);

  [[nodiscard]] std::vector<Action> apply(Event event, Time now);

  /// All that is needed to go on, as JSON.
  [[nodiscard]] std::string snapshot() const;

  /// From the next event on; see EngineOptions.
  void set_window(std::uint32_t window) { options_.window = window == 0 ? 1 : window; }

  /// Of a node that runs: pieces, groups or steps for which no call has been started.
  [[nodiscard]] std::uint64_t not_started(std::uint32_t node) const;
  [[nodiscard]] std::uint32_t open_calls_of(std::uint32_t node) const { return nodes_[node].open; }
  /// Bytes at its ports, as far as they are there; an object counts as its id.
  [[nodiscard]] std::uint64_t input_bytes(std::uint32_t node) const;

  /// The objects at its ports, as far as they are there.
  [[nodiscard]] std::vector<DataId> data_at(std::uint32_t node) const;
  /// Of a node: values at its ports that are there.
  [[nodiscard]] std::uint32_t values_there(std::uint32_t node) const;
  /// As it was given when the flow began, also after a resume.
  [[nodiscard]] const std::string& key() const { return options_.key; }
  [[nodiscard]] FlowOutcome outcome() const { return outcome_; }
  /// Of the flow that failed.
  [[nodiscard]] const std::optional<AttemptFailed>& failure() const { return failure_; }
  [[nodiscard]] NodeProgress progress(std::uint32_t node) const;
  /// Of the plan's output; null until its node is done.
  [[nodiscard]] Value output(std::size_t number) const;
  [[nodiscard]] std::size_t open_calls() const { return open_.size(); }
  /// One whose data was lost is not done until it has been made again.
  [[nodiscard]] std::size_t nodes_done() const { return nodes_.size() - nodes_left_; }

 private:
  friend struct EngineSnapshot;

  /// What a node does: some of it first, then others.
  enum class Stage : std::uint8_t { partition, main, merge };
  /// One call of a stage, and again if it fails.
  struct Work {
    std::uint64_t index = 0;   // of a piece, the first of a run, or a group; else 0
    bool judges = false;       // asks `until` of the result
    std::uint64_t pieces = 1;  // of a run
    bool keeps = false;        // has what `keeping` says kept as a file
  };
  /// A result that waits for one before it.
  struct Ahead {
    Bytes result;
    std::uint64_t pieces = 1;
  };
  struct OpenCall {
    std::uint32_t node = 0;
    Work work;
    Device device = Device::any;
    bool is_variant = false;  // and not the node's own function
  };
  /// A `master` node: what it has handed out, and what has come of that.
  struct MasterRun {
    bool asks = false;                    // it may have more to hand out
    std::uint64_t asked = 0;              // so often
    std::uint64_t gathered = 0;           // so many results
    std::uint64_t handed_out = 0;         // pieces of work, with numbers from 0
    std::map<std::uint64_t, Bytes> work;  // that has not been done
    std::deque<Bytes> results;            // to be gathered
    std::optional<std::uint64_t> head;    // the index of its own call that is to be done
  };
  /// A branch of a `divide` node; the first is the whole.
  struct Branch {
    enum class State : std::uint8_t { divides, solves, waits, combines, done };
    State state = State::divides;
    Bytes problem{};  // until it is divided or solved
    std::uint64_t parent = 0;
    std::uint64_t first_child = 0;
    std::uint64_t children = 0;
    std::uint64_t missing = 0;  // results of children
    Bytes result{};             // until it is combined
  };
  struct NodeRun {
    NodeState state = NodeState::waiting;
    std::uint32_t missing = 0;  // values that its ports wait for
    std::uint32_t uses = 0;     // by consumers that have not ended
    Value value;                // once it is done, and for as long as somebody uses it
    Stage stage = Stage::main;
    Value about;                                 // pieces, elements, the state, all results
    bool has_own_state = false;                  // of an iteration: a step has made it
    std::uint64_t step = 0;                      // of an iteration; level of a reduction
    std::uint64_t state_step = 0;                // so many have led to the state in `about`
    Value kept;                                  // of an iteration: its last state in a file
    std::uint64_t kept_step = 0;                 // so many have led to that
    bool keeping = false;                        // nothing goes on until `result`, or if there is
    Bytes result;                                // none the state, is in a file
    std::uint64_t total = 1;                     // calls of the stage
    std::uint64_t pieces = 0;                    // that are being merged
    std::uint64_t next = 0;                      // the first that was not started
    std::uint64_t in_order = 0;                  // so many results are in `gathered`
    Gathering gathered;                          // or, with `until`, nowhere
    std::map<std::uint64_t, Ahead> ahead;        // results of later ones
    Bytes last;                                  // with `until`: what the last piece gave
    std::map<std::uint64_t, Bytes> judged;       // results that `until` is asked of
    std::map<std::uint64_t, unsigned> failures;  // of pieces that have failed and not yet gone well
    std::deque<Work> again;
    std::unique_ptr<MasterRun> master;          // of a `master` that has begun
    std::unique_ptr<std::vector<Branch>> tree;  // of a `divide` that has begun
    std::uint32_t open = 0;
    unsigned remakes = 0;     // so often it asked for data that was lost
    std::uint32_t round = 0;  // WorkId::round
    bool is_queued = false;
  };

  Engine(const Plan& plan, std::vector<Value> inputs, const EngineOptions& options);
  void handle(Answered& event);
  void handle(CallFailed& event);
  void handle(const Tick& event);
  void handle(const Cancel& event);
  void handle(const GoOn& event);
  void handle(Decided& event);
  [[nodiscard]] std::optional<OpenCall> close(CallId call);
  void take_late(Answered& event);

  [[nodiscard]] Value value_of(const Source& source) const;
  void begin(std::uint32_t node);
  void set_stage(NodeRun& run, Stage stage, std::uint64_t total);
  [[nodiscard]] const PlannedCall& call_of(std::uint32_t node, const Work& work) const;
  void append_argument(std::uint32_t node, const Work& work, StartCall& start) const;
  void start_call(std::uint32_t node);
  [[nodiscard]] bool can_start(std::uint32_t node) const;
  [[nodiscard]] std::optional<Device> next_device(std::uint32_t node) const;  // engine_devices.cpp
  [[nodiscard]] bool awaits_variant(std::uint32_t node) const;                // engine_variants.cpp
  const PlannedCall& next_function(std::uint32_t node, const Work& work, Device device);
  void queue(std::uint32_t node);
  void pump();

  void take_result(const OpenCall& call, Bytes output);
  void take_pieces(std::uint32_t node, Value pieces);
  void take_item(std::uint32_t node, const Work& work, Bytes output);
  void take_judged(std::uint32_t node, const Work& work, Bytes output);
  [[nodiscard]] std::uint64_t run_length(std::uint32_t node, Device device) const;
  static void skip_ahead(NodeRun& run);
  void end_stage(std::uint32_t node);
  void end_node(std::uint32_t node, Bytes output);
  void finish_node(std::uint32_t node, Bytes output);
  void forget_unused(std::uint32_t node);
  void fail_attempt(const OpenCall& call, std::string outcome, std::string message);
  void stop(FlowOutcome outcome);
  void stop_calls_of(std::uint32_t node);
  static void rewind(NodeRun& run);
  [[nodiscard]] std::string part_of(std::uint32_t node, const Work& work) const;

  // engine_data.cpp
  void count_data(const PortType& type, const Bytes& value);
  void drop(const PortType& type, const Value& value);
  void drop_state(std::uint32_t node);
  void set_back(std::uint32_t node);
  void prepare(const Advice& said);
  void make_again(std::uint32_t node);
  void tell_lost(const OpenCall& call, const CallFailed& event);
  [[nodiscard]] bool make_again_for(const OpenCall& call, const CallFailed& event);

  // engine_steps.cpp
  void take_step(std::uint32_t node, Bytes output, bool is_last);
  void go_on_from_kept(std::uint32_t node);
  void begin_keeping(std::uint32_t node);
  void take_kept(std::uint32_t node);
  void forget_kept(std::uint32_t node);
  void make_result_again(std::uint32_t node);
  void drop_kept_values();

  // engine_branching.cpp
  void begin_branching(std::uint32_t node);
  [[nodiscard]] static const PlannedCall& call_of_branching(const PlannedNode& planned,
                                                            const Work& work);
  void append_branching(std::uint32_t node, const Work& work, Bytes& input) const;
  void take_branching(std::uint32_t node, std::uint64_t index, Bytes output);
  static void rewind_branching(NodeRun& run);
  void fail_branching(std::uint32_t node);
  [[nodiscard]] std::string part_of_branching(std::uint32_t node, const Work& work) const;
  [[nodiscard]] static NodeProgress progress_of_branching(const NodeRun& run);
  void find_next_of_master(std::uint32_t node);
  void take_of_master(std::uint32_t node, std::uint64_t index, Bytes output);
  void take_of_tree(std::uint32_t node, std::uint64_t index, Bytes output);
  void end_branch(std::uint32_t node, std::uint64_t number, Bytes output);

  const Plan* plan_;
  std::vector<Value> inputs_;
  EngineOptions options_;
  std::vector<NodeRun> nodes_;
  std::size_t nodes_left_ = 0;  // that are not done
  FlowOutcome outcome_ = FlowOutcome::running;
  std::optional<AttemptFailed> failure_;
  std::unordered_map<std::uint64_t, OpenCall> open_;
  std::unordered_map<std::uint64_t, OpenCall> stopped_;  // by the flow's end
  std::multimap<Time, OpenCall> delayed_;
  std::unordered_map<DataId, std::uint32_t> made_;  // of the objects of nodes: values that are one
  std::unordered_set<DataId> in_files_;             // of these
  /// Nodes that may have calls to start: those with the highest priority first, then in turns.
  using Turn = std::tuple<std::int64_t, std::uint64_t, std::uint32_t>;  // -priority, turn, node
  std::set<Turn> queue_;
  std::uint64_t turns_ = 0;
  /// What optimisers have said, by node; those that they have not named are not in it.
  std::unordered_map<std::uint32_t, Advice> advice_;
  std::optional<std::uint32_t> open_calls_;  // they allow
  std::uint64_t next_call_ = 0;
  std::uint32_t generation_ = 0;  // how often it has gone on
  Time now_{};
  bool begun_ = false;
  std::vector<Action> actions_;
};

}  // namespace orchid::flow
