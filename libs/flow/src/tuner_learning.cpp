// What the tuner learns from what the engine is told and does.
#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "flow/tuner.h"
#include "host_speeds.h"
#include "known_objects.h"
#include "variant_book.h"

namespace orchid::flow {
namespace {

/// The weight of the last call among the recent ones.
constexpr double recent = 0.25;

/// What another call of it would end as, too, whatever its worker.
bool is_functions_fault(const std::string& outcome) {
  constexpr std::array faults{"function_error",    "function_crashed", "function_exited",
                              "limit_exceeded",    "module_rejected",  "bad_request",
                              "deadline_exceeded", "unsupported"};
  return std::ranges::find(faults, outcome) != faults.end();
}

}  // namespace

/// Times of a function are those of whichever variant was called in its place: others go by them.
void Tuner::starts(const StartCall& start, Time now) {
  Open open{.node = start.node,
            .call = start.keeps ? nullptr : start.function,
            .function = start.function->function,
            .pieces = start.pieces,
            .gives_data = start.function->result.is_data(),
            .data = start.data,
            .device = start.device,
            .variant = {},
            .started = now};
  if (!start.keeps) open.variant = variants_->number_of(start.node, start.function);
  if (open.variant) {
    open.function = plan_.nodes[start.node].main.function;
    variants_->begins(start.node, start.device, *open.variant);
  }
  open_.insert_or_assign(start.call.number, std::move(open));
}

std::optional<Tuner::Open> Tuner::closes(std::uint64_t number) {
  const auto found = open_.find(number);
  if (found == open_.end()) return std::nullopt;
  Open call = std::move(found->second);
  open_.erase(found);
  if (call.variant) variants_->ends(call.node, call.device, *call.variant);
  return call;
}

void Tuner::set_kept(std::vector<KeptVariants> kept) { variants_->set_kept(std::move(kept)); }

std::vector<KeptVariants> Tuner::learned() const { return variants_->learned(); }

void Tuner::see(const Action& action, Time now) {
  if (const auto* start = std::get_if<StartCall>(&action)) {
    starts(*start, now);
  } else if (const auto* stop = std::get_if<StopCall>(&action)) {
    closes(stop->call.number);
  } else if (const auto* drop = std::get_if<DropData>(&action)) {
    objects_->forget(drop->data);
  } else if (const auto* change = std::get_if<NodeChanged>(&action)) {
    nodes_changed_ = true;
    if (change->state == NodeState::running) {
      begins(change->node);
    } else {
      running_.erase(change->node);
      undecided_.erase(change->node);
      if (change->state == NodeState::done) look_behind(change->node);
    }
  }
}

void Tuner::see(const Event& event, Time now) {
  if (const auto* failed = std::get_if<CallFailed>(&event)) {
    const std::optional<Open> call = closes(failed->call.number);
    if (call && call->variant && is_functions_fault(failed->outcome))
      variants_->fails(call->node, call->device, *call->variant);
  }
  if (const auto* decided = std::get_if<Decided>(&event)) {
    for (const Advice& one : decided->nodes) {
      Advice& said = said_[one.node];
      // What was done before it began stays told.
      const std::string before = said.prepare != 0 && one.prepare == 0 ? said.why + "; " : "";
      said = one;
      if (one.devices || !one.variants.empty()) undecided_.erase(one.node);
      variants_->see(one);
      said.why.insert(0, before);
    }
    if (decided->open_calls) open_calls_ = decided->open_calls;
  }
  const auto* answered = std::get_if<Answered>(&event);
  if (answered == nullptr) return;
  std::optional<Open> closed = closes(answered->call.number);
  if (!closed) return;
  Open& call = *closed;
  ++calls_seen_;
  learn_of_result(call, answered->output);
  if (answered->run_time.count() <= 0) return;
  if (call.variant)
    variants_->learn(call.node, call.device, *call.variant,
                     std::chrono::duration<double>(answered->run_time).count() /
                         static_cast<double>(call.pieces));
  learn(times_[{call.function, {}}], call, answered->run_time, now);
  compare(call, *answered, now);
}

/// On hosts and devices. A batch of steps takes as long as its budget says: there its steps are the
/// pieces.
void Tuner::compare(Open& call, const Answered& answered, Time now) {
  if (plan_.nodes[call.node].is_step)
    call.pieces = std::max<std::uint64_t>(steps_in(answered.output), 1);
  // Of its cores: what its GPU takes says nothing of these.
  if (call.call != nullptr && !answered.host.empty() && call.device != Device::gpu)
    speeds_->learn(call.call, call.device, answered.host,
                   std::chrono::duration<double>(answered.run_time).count() /
                       static_cast<double>(call.pieces));
  if (call.device == Device::any) return;
  const std::string kind = call.device == Device::gpu ? "gpu" : "cpu";
  FunctionTimes& times = times_[{call.function, kind}];
  times.host_kind = kind;
  learn(times, call, answered.run_time, now);
}

void Tuner::learn(FunctionTimes& times, const Open& call, Time run_time, Time now) {
  const auto seconds = [](Time time) { return std::chrono::duration<double>(time).count(); };
  const double overhead = std::max(seconds(now - call.started - run_time), 0.0);
  // The least there was: what is more has waited for a worker.
  times.overhead_seconds = times.calls == 0 ? overhead : std::min(times.overhead_seconds, overhead);
  times.function = call.function;
  ++times.calls;
  times.pieces += call.pieces;
  times.run_seconds += seconds(run_time);
  const double piece = seconds(run_time) / static_cast<double>(call.pieces);
  times.slowest_piece_seconds = std::max(times.slowest_piece_seconds, piece);
  times.recent_piece_seconds =
      times.calls == 1 ? piece
                       : times.recent_piece_seconds + (piece - times.recent_piece_seconds) * recent;
}

}  // namespace orchid::flow
