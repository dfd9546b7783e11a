#include "orchid/run_flow.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "flow/document.h"
#include "flow/engine.h"
#include "flow_run/deployed_functions.h"
#include "flow_run/flow_calls.h"
#include "flow_run/flow_data.h"
#include "flow_run/flow_driver.h"
#include "flow_run/flow_tuning.h"
#include "flow_run/variant_file.h"
#include "foundation/files.h"

namespace orchid {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void refuse(std::string message) {
  throw Error({.kind = ErrorKind::bad_request, .message = std::move(message), .hint = {}});
}

template <typename T>
T value_or_throw(Result<T> result) {
  if (!result) refuse(std::move(result.error().message));
  return std::move(*result);
}

std::string text_of(const std::vector<flow::Fault>& faults) {
  std::string text;
  for (const flow::Fault& fault : faults)
    text += (text.empty() ? "" : "\n") + flow::to_string(fault);
  return text;
}

FlowNodeState state_of(flow::NodeState state) {
  static_assert(static_cast<int>(flow::NodeState::cancelled) ==
                static_cast<int>(FlowNodeState::cancelled));
  return static_cast<FlowNodeState>(state);
}

FlowNodeStatus status_of(const flow::Plan& plan, const flow::Engine& engine, std::uint32_t node) {
  const flow::NodeProgress progress = engine.progress(node);
  return {.name = plan.nodes[node].name,
          .state = state_of(progress.state),
          .done = progress.done,
          .total = progress.total};
}

std::vector<FlowNodeStatus> all_of(const flow::Plan& plan, const flow::Engine& engine) {
  std::vector<FlowNodeStatus> nodes;
  for (std::uint32_t i = 0; i < plan.nodes.size(); ++i) nodes.push_back(status_of(plan, engine, i));
  return nodes;
}

FlowFailure failure_of(const flow::Plan& plan, const flow::AttemptFailed& attempt) {
  return {.node = plan.nodes[attempt.node].name,
          .part = attempt.part,
          .attempt = attempt.attempt,
          .outcome = attempt.outcome,
          .message = attempt.message,
          .again = attempt.again};
}

flow::Bytes bytes_of(Client& client, const flow::PlannedInput& input,
                     const FlowInputs::Given& given) {
  if (given.is_text) {
    std::string text(as_text(given.value.bytes));
    if (input.type.is_data()) text = flow::data_id_of(client, text);
    auto bytes = flow::value_of_text(input.type, text);
    if (!bytes) refuse(fmt::format("input '{}': {}", input.name, bytes.error().message));
    return std::move(*bytes);
  }
  if (const std::string type = to_string(input.type); given.value.type != type)
    refuse(fmt::format("input '{}' is {}, and {} was given", input.name, type, given.value.type));
  return given.value.bytes;
}

std::vector<flow::Value> values_of(Client& client, const flow::Plan& plan,
                                   const FlowInputs& inputs) {
  const auto name_of = [](const FlowInputs::Given& given) { return given.value.name; };
  for (const FlowInputs::Given& given : inputs.given())
    if (std::ranges::find(plan.inputs, given.value.name, &flow::PlannedInput::name) ==
        plan.inputs.end())
      refuse(fmt::format("flow '{}' has no input '{}'", plan.name, given.value.name));
  std::vector<flow::Value> values;
  for (const flow::PlannedInput& input : plan.inputs) {
    const auto given = std::ranges::find(inputs.given(), input.name, name_of);
    if (given == inputs.given().end())
      refuse(fmt::format("flow '{}' needs a value of its input '{}' ({})", plan.name, input.name,
                         to_string(input.type)));
    values.push_back(std::make_shared<const flow::Bytes>(bytes_of(client, input, *given)));
  }
  return values;
}

/// Tells the program how the flow goes.
class Told final : public flow::FlowWatch {
 public:
  Told(const flow::Plan& plan, const flow::Engine& engine, flow::FlowInbox& inbox,
       const FlowRunOptions& options)
      : plan_(plan), engine_(engine), inbox_(inbox), options_(options) {}

  void changed(const flow::NodeChanged& change) override {
    if (options_.node_changed) options_.node_changed(status_of(plan_, engine_, change.node));
  }
  void failed(const flow::AttemptFailed& attempt) override {
    if (options_.attempt_failed) options_.attempt_failed(failure_of(plan_, attempt));
  }
  [[nodiscard]] bool look() override {
    if (options_.watch && !options_.watch(all_of(plan_, engine_))) inbox_.put_interrupt(true);
    if (!options_.keep) return true;
    const Clock::time_point now = Clock::now();
    if (now - kept_ < options_.keep_every) return false;
    kept_ = now;
    options_.keep(engine_.snapshot());
    return true;
  }
  [[nodiscard]] bool interrupted() override { return true; }

 private:
  const flow::Plan& plan_;
  const flow::Engine& engine_;
  flow::FlowInbox& inbox_;
  const FlowRunOptions& options_;
  Clock::time_point kept_ = Clock::now();
};

FlowResult result_of(const flow::Plan& plan, const flow::Engine& engine) {
  FlowResult::Parts parts{.nodes = all_of(plan, engine)};
  switch (engine.outcome()) {
    case flow::FlowOutcome::done:
      for (std::size_t i = 0; i < plan.outputs.size(); ++i)
        parts.outputs.push_back({.name = plan.outputs[i].name,
                                 .type = to_string(plan.outputs[i].type),
                                 .bytes = *engine.output(i)});
      return FlowResult(std::move(parts));
    case flow::FlowOutcome::failed:
      parts.outcome = FlowOutcome::failed;
      parts.failure = failure_of(plan, *engine.failure());
      break;
    case flow::FlowOutcome::cancelled:
    case flow::FlowOutcome::running:
      parts.outcome = FlowOutcome::cancelled;
  }
  parts.state = engine.snapshot();
  return FlowResult(std::move(parts));
}

/// A flow that cannot keep it has run nevertheless.
void keep_learned(const flow::Tuner& tuner, const std::filesystem::path& file) {
  if (auto learned = tuner.learned(); !learned.empty())
    (void)flow::keep_variants(file, std::move(learned));
}

}  // namespace

FlowInputs& FlowInputs::add(FlowValue value, bool is_text) {
  std::erase_if(given_, [&](const Given& one) { return one.value.name == value.name; });
  given_.push_back({.value = std::move(value), .is_text = is_text});
  return *this;
}

FlowInputs& FlowInputs::set_text(std::string_view name, std::string_view text) {
  const auto bytes = as_bytes(text);
  return add({.name = std::string(name), .type = {}, .bytes = {bytes.begin(), bytes.end()}}, true);
}

FlowInputs& FlowInputs::set_bytes(std::string_view name, std::span<const std::byte> bytes) {
  return add({.name = std::string(name),
              .type = std::string(flow::untyped),
              .bytes = {bytes.begin(), bytes.end()}});
}

std::string_view to_string(FlowNodeState state) {
  return flow::to_string(static_cast<flow::NodeState>(state));
}

std::string_view to_string(FlowOutcome outcome) {
  static constexpr std::array<std::string_view, 3> names{"done", "failed", "cancelled"};
  return names.at(static_cast<std::size_t>(outcome));
}

const FlowValue& FlowResult::output(std::string_view name, std::string_view type) const {
  if (const auto& failure = parts_.failure)
    throw Error({.kind = ErrorKind::function_error,
                 .message = fmt::format("the flow failed: node '{}'{}{}: {}: {}", failure->node,
                                        failure->part.empty() ? "" : ", ", failure->part,
                                        failure->outcome, failure->message),
                 .hint = {},
                 .outcome = failure->outcome});
  if (parts_.outcome != FlowOutcome::done)
    throw Error({.kind = ErrorKind::cancelled, .message = "the flow was cancelled", .hint = {}});
  const auto found = std::ranges::find(parts_.outputs, name, &FlowValue::name);
  if (found == parts_.outputs.end())
    throw Error({.kind = ErrorKind::not_found,
                 .message = fmt::format("the flow has no output '{}'", name),
                 .hint = "name one of the document's 'outputs'"});
  if (!type.empty() && found->type != type)
    throw Error({.kind = ErrorKind::signature_mismatch,
                 .message = fmt::format("output '{}' is {}, and not {}", name, found->type, type),
                 .hint = "change the type in get<...>"});
  return *found;
}

std::string FlowResult::json(std::string_view name) const {
  const FlowValue& value = output(name);
  return value_or_throw(
      flow::json_of_value(value_or_throw(flow::parse_port_type(value.type)), value.bytes));
}

FlowResult run_flow(Client& client, std::string_view document, const FlowInputs& inputs,
                    const FlowRunOptions& options) {
  const std::string file =
      options.folder.empty() ? std::string() : (options.folder / "flow.yaml").string();
  const flow::Parsed parsed = flow::parse_document(std::string(document), file);
  if (!parsed.faults.empty()) refuse(text_of(parsed.faults));
  flow::DeployedFunctions functions(&client);
  const flow::Checked checked = flow::check_flow(parsed.document, functions);
  if (!checked.faults.empty()) refuse(text_of(checked.faults));
  const flow::Plan& plan = checked.plan;
  if (!options.state.empty() && !inputs.given().empty())
    refuse("the state has the inputs of the flow; give none");
  const flow::EngineOptions engine_options{.window = std::max(options.calls_at_once, 1U),
                                           .key = flow::new_flow_key()};
  flow::Engine engine = value_or_throw(
      options.state.empty()
          ? flow::Engine::start(plan, values_of(client, plan, inputs), engine_options)
          : flow::Engine::resume(plan, options.state, engine_options));
  const std::unique_ptr<flow::Tuner> tuner = value_or_throw(flow::make_tuner(plan));
  if (tuner != nullptr) {
    tuner->set_hosts(flow::host_situations(client.get("/v1/hosts")));
    if (!options.variants.empty()) tuner->set_kept(flow::read_variants(options.variants));
  }
  const auto inbox = std::make_shared<flow::FlowInbox>();
  const std::stop_callback cancel(options.stop, [&inbox] { inbox->put_interrupt(true); });
  const unsigned threads = options.calls_at_once == 0 ? 2 * options.workers : options.calls_at_once;
  const flow::MadeCalls made =
      flow::make_calls(client, plan,
                       {.workers = options.workers,
                        .within = options.within,
                        .threads = std::clamp(threads, 1U, flow::most_threads),
                        .by_gateway = options.by_gateway || functions.any_needs_more(),
                        .key = engine.key()},
                       inbox);
  if (options.calls_at_once == 0) engine.set_window(made.calls->window());
  Told told(plan, engine, *inbox, options);
  flow::HostLooks looks(client);
  flow::drive({.plan = plan,
               .engine = engine,
               .calls = *made.calls,
               .inbox = *inbox,
               .watch = told,
               .tuner = tuner.get(),
               .hosts = &looks,
               .follows_window = options.calls_at_once == 0});
  if (tuner != nullptr && !options.variants.empty()) keep_learned(*tuner, options.variants);
  FlowResult result = result_of(plan, engine);
  if (options.keep && !result.state().empty()) options.keep(result.state());
  return result;
}

FlowResult run_flow(Client& client, const Flow& flow, const FlowInputs& inputs,
                    const FlowRunOptions& options) {
  return run_flow(client, flow.json(), inputs, options);
}

}  // namespace orchid
