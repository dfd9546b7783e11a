// commands/flow_run.cpp: orchid flow run: runs a flow in the foreground.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "commands/commands.h"
#include "flows/flow_calls.h"
#include "flows/flow_driver.h"
#include "flows/flow_progress.h"
#include "flows/flow_source.h"
#include "flows/flow_values.h"
#include "foundation/files.h"
#include "terminal/documents.h"

namespace orchid::cli {
namespace {

struct RunArguments {
  std::string file;
  std::vector<std::string> inputs;
  std::string output;  // folder
  std::string state;   // file
  unsigned workers = 8;
  unsigned at_once = 0;
  bool by_gateway = false;
};

/// Of calls through the gateway: each that is under way has one.
constexpr unsigned most_threads = 256;

/// On a lease where that can be: a call costs microseconds there.
std::unique_ptr<FlowCalls> make_calls(Shell& shell, Client& client, const flow::Plan& plan,
                                      const RunArguments& arguments, bool by_gateway,
                                      std::shared_ptr<FlowInbox> inbox) {
  if (!by_gateway) {
    try {
      return calls_on_lease(client, plan, arguments.workers, inbox);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported) throw;
      if (!shell.json)
        shell.note("no lane leads to workers from here; calls go through the gateway");
    }
  }
  return calls_by_gateway(
      client,
      std::min(most_threads, arguments.at_once == 0 ? 2 * arguments.workers : arguments.at_once),
      std::move(inbox));
}

/// From where a flow runs: its inputs, which are read once, or what was reached before.
struct Beginning {
  std::vector<flow::Value> inputs;
  std::optional<std::string> state;
};

Result<Beginning> find_beginning(const flow::Plan& plan, const RunArguments& arguments) {
  std::error_code error;
  if (arguments.state.empty() || !std::filesystem::exists(arguments.state, error)) {
    auto inputs = input_values(plan, arguments.inputs);
    if (!inputs) return fail(std::move(inputs.error()));
    return Beginning{.inputs = std::move(*inputs), .state = std::nullopt};
  }
  if (!arguments.inputs.empty())
    return fail(ErrorCode::bad_request,
                "'" + arguments.state + "' has the inputs of the flow; leave --input out");
  constexpr ByteCount largest_state{std::uint64_t{1} << 36};
  const auto text = read_file(arguments.state, largest_state);
  if (!text) return fail(text.error());
  return Beginning{.inputs = {}, .state = std::string(as_text(*text))};
}

Result<flow::Engine> make_engine(const flow::Plan& plan, const Beginning& beginning,
                                 std::uint32_t window) {
  const flow::EngineOptions options{.window = window};
  return beginning.state ? flow::Engine::resume(plan, *beginning.state, options)
                         : flow::Engine::start(plan, beginning.inputs, options);
}

/// So that what is wrong with it is told before anything runs.
Result<void> make_output_folder(const std::string& folder) {
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error)
    return fail(system_failure(ErrorCode::system, "making the folder " + folder, error.value()));
  return {};
}

/// What has been reached, for the next time; of a flow whose results were delivered nothing.
Result<void> keep_state(const flow::Engine& engine, const std::string& file, bool delivered) {
  if (file.empty()) return {};
  if (!delivered) return write_output_file(file, as_bytes(engine.snapshot()));
  std::error_code error;
  std::filesystem::remove(file, error);
  return {};
}

Document nodes_of(const flow::Plan& plan, const flow::Engine& engine) {
  Document nodes = Document::array();
  for (std::uint32_t i = 0; i < plan.nodes.size(); ++i) {
    const flow::NodeProgress progress = engine.progress(i);
    nodes.push_back({{"node", plan.nodes[i].name},
                     {"state", to_string(progress.state)},
                     {"done", progress.done},
                     {"total", progress.total}});
  }
  return nodes;
}

ExitStatus deliver(Shell& shell, const flow::Plan& plan, const flow::Engine& engine,
                   const RunArguments& arguments) {
  const auto outputs = arguments.output.empty() ? outputs_of(plan, engine)
                                                : write_outputs(plan, engine, arguments.output);
  if (!outputs) return shell.report(outputs.error());
  if (shell.json)
    print_document(shell, {{"flow", plan.name},
                           {"outcome", "done"},
                           {arguments.output.empty() ? "outputs" : "output_files", *outputs},
                           {"nodes", nodes_of(plan, engine)}});
  else if (arguments.output.empty())
    print_document(shell, outputs->size() == 1 ? *outputs->begin() : *outputs);
  return ExitStatus::ok;
}

ExitStatus report_end(Shell& shell, const flow::Plan& plan, const flow::Engine& engine,
                      const RunArguments& arguments) {
  if (engine.outcome() == flow::FlowOutcome::done) return deliver(shell, plan, engine, arguments);
  const auto& failure = engine.failure();
  const std::string outcome = failure ? failure->outcome : "cancelled";
  const std::string reason =
      failure ? describe(plan, *failure) : "the flow was cancelled before its end";
  const std::string hint =
      arguments.state.empty() ? "" : "; the same command goes on from there, without --input";
  shell.status = failure ? exit_status_of_outcome(outcome) : ExitStatus::function_failed;
  if (shell.json)
    report_document(shell, {{"error", outcome},
                            {"message", reason},
                            {"flow", plan.name},
                            {"outcome", to_string(engine.outcome())},
                            {"nodes", nodes_of(plan, engine)},
                            {"exit_status", static_cast<int>(shell.status)}});
  else
    shell.note("orchid: " + reason + hint);
  return shell.status;
}

ExitStatus run_flow(Shell& shell, const RunArguments& arguments) {
  const auto parsed = read_flow(arguments.file);
  if (!parsed) return shell.report(parsed.error());
  if (!parsed->faults.empty()) return report_faults(shell, parsed->faults);
  const auto inbox = std::make_shared<FlowInbox>();
  const FlowSignals signals(*inbox);
  Client client = shell.client();
  DeployedFunctions functions(&client);
  const flow::Checked checked = check_flow(parsed->document, functions);
  if (!checked.faults.empty()) return report_faults(shell, checked.faults);
  // What is wrong with the inputs is told before workers are asked for.
  const auto beginning = find_beginning(checked.plan, arguments);
  if (!beginning) return shell.report(beginning.error());
  auto engine = make_engine(checked.plan, *beginning, std::max(arguments.at_once, 1U));
  if (!engine) return shell.report(engine.error());
  if (const auto made = make_output_folder(arguments.output); !made)
    return shell.report(made.error());
  const auto calls = make_calls(shell, client, checked.plan, arguments,
                                arguments.by_gateway || functions.any_needs_more(), inbox);
  const bool follows = arguments.at_once == 0;
  if (follows) engine->set_window(calls->window());
  {
    FlowProgress progress(shell, checked.plan, *engine);
    drive({.plan = checked.plan,
           .engine = *engine,
           .calls = *calls,
           .inbox = *inbox,
           .watch = progress,
           .follows_window = follows});
  }
  const ExitStatus status = report_end(shell, checked.plan, *engine, arguments);
  const bool delivered = status == ExitStatus::ok;
  if (const auto kept = keep_state(*engine, arguments.state, delivered); !kept)
    return shell.report(kept.error());
  return status;
}

}  // namespace

void add_flow_run(CLI::App& flows, Shell& shell) {
  auto* command = add_command(
      flows, shell, "run", "Run a flow, and wait for it",
      "  orchid flow run search.yaml --input digest=1f3870be274f6c49b3e31a0c6728957f\n"
      "  orchid flow run idw.yaml --input stations=@stations.npy --output results\n"
      "  orchid flow run long.yaml --input n=5 --state long.state   # and again, to go on");
  auto arguments = std::make_shared<RunArguments>();
  command->add_option("FILE", arguments->file, "the flow, YAML or JSON; -: standard input")
      ->required();
  command->add_option("--input,-i", arguments->inputs,
                      "NAME=VALUE, text or JSON, or NAME=@FILE: JSON, .npy, text or bytes");
  command->add_option("--output", arguments->output,
                      "a folder for a file of each output (default: all to standard output)");
  command->add_option(
      "--state", arguments->state,
      "a file that keeps what was reached when the flow fails or is cancelled; if it "
      "is there, the flow goes on from it");
  command->add_option("--workers", arguments->workers, "so many at most (default: 8)")
      ->check(CLI::Range(1U, 1024U));
  command
      ->add_option("--at-once", arguments->at_once,
                   "so many calls at most are under way (default: 4 for each worker, 1 if a node "
                   "has a deadline; "
                   "through the gateway 2 for each of --workers, 256 at most)")
      ->check(CLI::Range(1U, 65536U));
  command->add_flag("--by-gateway", arguments->by_gateway,
                    "call through the gateway, as `orchid invoke` does, instead of on a lease");
  command->callback([&shell, arguments] { shell.status = run_flow(shell, *arguments); });
}

}  // namespace orchid::cli
