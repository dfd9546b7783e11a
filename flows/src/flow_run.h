// flow_run.h: one flow that is not done: the engine, its open calls, and what is told of it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "flow/engine.h"
#include "flow/tuner.h"
#include "flow_journal.h"
#include "flow_submission.h"
#include "foundation/result.h"

namespace orchid::flows {

/// Calls of one flow that are open at once. A part of what is on disk: with another one the same
/// events would start other calls.
constexpr std::uint32_t flow_window = 32;

/// Owned by one thread. What it says follows from the flow and its events alone.
class FlowRun {
 public:
  /// Errors: `bad_request`: an input does not fit.
  [[nodiscard]] static Result<std::unique_ptr<FlowRun>> create(ReadyFlow flow);
  FlowRun(const FlowRun&) = delete;
  FlowRun& operator=(const FlowRun&) = delete;

  /// What is to be done about calls, and about data.
  struct Todo {
    std::vector<std::uint64_t> start;  // their numbers
    std::vector<std::uint64_t> stop;
    std::vector<DataId> drop;
    std::vector<flow::Prepare> prepare;
  };
  Todo apply(const JournalEvent& event);
  /// Functions are called so from now on, by what documents call them.
  void call_as(std::map<std::string, std::string> exact) { plan_->exact = std::move(exact); }
  /// Something that is told, and follows from no event: it is forgotten with this object.
  void note(std::string text, UnixMillis at);

  /// Whether somebody optimises it, and wants to know of hosts.
  [[nodiscard]] bool is_optimised() const {
    return tuner_ != nullptr && engine_.outcome() == flow::FlowOutcome::running;
  }
  /// Of variants: by flows before it; and with what it has learned itself.
  void set_kept(std::vector<flow::KeptVariants> kept) {
    if (tuner_ != nullptr) tuner_->set_kept(std::move(kept));
  }
  [[nodiscard]] std::vector<flow::KeptVariants> learned() const {
    return tuner_ == nullptr ? std::vector<flow::KeptVariants>() : tuner_->learned();
  }
  [[nodiscard]] bool was_told_of_hosts() const { return told_of_hosts_; }
  /// As they are now; none: nobody knows.
  void see_hosts(const std::vector<flow::HostSituation>& hosts) {
    told_of_hosts_ = true;
    if (!hosts.empty()) tuner_->see_hosts(hosts);
  }
  /// As of the tuner, while it is optimised.
  [[nodiscard]] bool may_want_objects() const { return tuner_->may_want_objects(); }
  [[nodiscard]] std::vector<DataId> wanted_objects() { return tuner_->wanted_objects(engine_); }
  void see_objects(std::vector<flow::ObjectSituation> objects) {
    tuner_->see_objects(std::move(objects));
  }
  /// What its optimisers have to say, for the engine to be told; nothing: nothing new. `at` as of
  /// events.
  [[nodiscard]] std::optional<flow::Decided> decide(flow::Time at);

  /// By number; each is under way, or is to be.
  [[nodiscard]] const std::map<std::uint64_t, flow::StartCall>& open_calls() const { return open_; }
  /// When a Tick is wanted.
  [[nodiscard]] std::optional<flow::Time> wake() const { return wake_; }
  /// Events that were applied.
  [[nodiscard]] std::uint64_t events() const { return events_; }
  [[nodiscard]] flow::Time last_at() const { return last_at_; }
  [[nodiscard]] UnixMillis last_wall() const { return last_wall_; }

  [[nodiscard]] const flow::Plan& plan() const { return *plan_; }
  [[nodiscard]] const flow::Engine& engine() const { return engine_; }
  [[nodiscard]] flow::FlowOutcome outcome() const { return engine_.outcome(); }
  /// Why it has failed; else empty.
  [[nodiscard]] std::string message() const;
  /// By name, JSON. The flow is done.
  [[nodiscard]] Result<std::string> outputs() const;

  /// Counts what there is to tell.
  [[nodiscard]] std::uint64_t sequence() const { return sequence_; }
  [[nodiscard]] std::uint64_t nodes_done() const { return engine_.nodes_done(); }
  /// A JSON list: state, progress and times of each node. As text: of a large flow it takes much
  /// less memory than its values.
  [[nodiscard]] std::string nodes() const;
  /// Server-sent events of all that was changed after `since`, but not of the flow's own state.
  [[nodiscard]] std::string news(std::uint64_t since) const;
  /// One line for each thing that happened; the oldest of very many are left out.
  [[nodiscard]] std::string log() const;

 private:
  struct NodeHistory {
    std::uint64_t changed = 0;  // sequence
    UnixMillis begun = 0;       // 0: it has not
    UnixMillis ended = 0;
    std::vector<std::uint64_t> calls;  // the newest that it has made, by number
  };
  struct LogLine {
    std::uint64_t sequence = 0;
    UnixMillis at = 0;
    std::string text;
    bool is_attempt = false;
  };
  FlowRun(std::unique_ptr<flow::Plan> plan, flow::Engine engine,
          std::unique_ptr<flow::Tuner> tuner);
  void act(flow::StartCall& call, Todo& todo);
  void act(const flow::StopCall& stop, Todo& todo);
  void act(const flow::NodeChanged& change, Todo& todo);
  void act(const flow::AttemptFailed& attempt, Todo& todo);
  void act(const flow::WakeAt& wake, Todo& todo);
  void act(const flow::DropData& drop, Todo& todo);
  void act(flow::Prepare& next, Todo& todo);
  void act(const flow::Ended& ended, Todo& todo);
  void say(std::string text, bool is_attempt = false);
  [[nodiscard]] nlohmann::ordered_json node(std::uint32_t number) const;

  std::unique_ptr<flow::Plan> plan_;  // the engine points to it
  flow::Engine engine_;
  std::unique_ptr<flow::Tuner> tuner_;  // null: nobody optimises the flow
  bool told_of_hosts_ = false;
  std::map<std::uint64_t, flow::StartCall> open_;
  std::optional<flow::Time> wake_;
  std::uint64_t events_ = 0;
  flow::Time last_at_{};
  UnixMillis last_wall_ = 0;
  std::uint64_t sequence_ = 0;
  std::vector<NodeHistory> history_;  // by node
  std::deque<LogLine> log_;
  std::uint64_t lines_left_out_ = 0;
};

/// On one line; what is no UTF-8 is replaced.
[[nodiscard]] std::string dump_text(const nlohmann::ordered_json& json);
/// "2026-11-26T16:40:00.000Z".
[[nodiscard]] std::string time_text(UnixMillis at);

}  // namespace orchid::flows
