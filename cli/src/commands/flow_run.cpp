// commands/flow_run.cpp: orchid flow run: runs a flow in the foreground.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "commands/commands.h"
#include "flow_run/deployed_functions.h"
#include "flow_run/flow_calls.h"
#include "flow_run/flow_data.h"
#include "flow_run/flow_driver.h"
#include "flow_run/flow_tuning.h"
#include "flow_run/variant_file.h"
#include "flows/flow_libraries.h"
#include "flows/flow_progress.h"
#include "flows/flow_signals.h"
#include "flows/flow_source.h"
#include "flows/flow_values.h"
#include "flows/learned_variants.h"
#include "foundation/amounts.h"
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
  std::chrono::nanoseconds within{std::chrono::seconds(10)};
  bool by_gateway = false;
};

/// On a lease where that can be: a call costs microseconds there.
flow::MadeCalls make_calls(Shell& shell, Client& client, const flow::Plan& plan,
                           const RunArguments& arguments, bool needs_more, const std::string& key,
                           std::shared_ptr<flow::FlowInbox> inbox) {
  const bool by_gateway = arguments.by_gateway || needs_more;
  if (!by_gateway && shell.err_is_terminal && !shell.json)
    shell.show_passing_line("waiting for workers");
  flow::MadeCalls made = flow::make_calls(
      client, plan,
      {.workers = arguments.workers,
       .within = std::chrono::ceil<std::chrono::milliseconds>(arguments.within),
       .threads = std::min(flow::most_threads,
                           arguments.at_once == 0 ? 2 * arguments.workers : arguments.at_once),
       .by_gateway = by_gateway,
       .key = key},
      std::move(inbox));
  if (!made.on_lease && !by_gateway && !flow::moves_data(plan) && !shell.json)
    shell.note("no lane leads to workers from here; calls go through the gateway");
  return made;
}

/// From where a flow runs: its inputs, which are read once, or what was reached before.
struct Beginning {
  std::vector<flow::Value> inputs;
  std::optional<std::string> state;
};

Result<Beginning> find_beginning(Client& client, const flow::Plan& plan,
                                 const RunArguments& arguments) {
  std::error_code error;
  if (arguments.state.empty() || !std::filesystem::exists(arguments.state, error)) {
    auto inputs = input_values(plan, with_data_ids(client, plan, arguments.inputs));
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
  const flow::EngineOptions options{.window = window, .key = flow::new_flow_key()};
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

/// What has been reached, for the next time.
Result<void> keep_state(const flow::Engine& engine, const std::string& file) {
  return file.empty() ? Result<void>() : write_output_file(file, as_bytes(engine.snapshot()));
}

/// The results were delivered.
void remove_state(const std::string& file) {
  std::error_code error;
  if (!file.empty()) std::filesystem::remove(file, error);
}

Document nodes_of(const flow::Plan& plan, const flow::Engine& engine, const flow::Tuner* tuner) {
  Document nodes = Document::array();
  for (std::uint32_t i = 0; i < plan.nodes.size(); ++i) {
    const flow::NodeProgress progress = engine.progress(i);
    nodes.push_back({{"node", plan.nodes[i].name},
                     {"state", to_string(progress.state)},
                     {"done", progress.done},
                     {"total", progress.total}});
    if (tuner != nullptr && !tuner->why(i).empty()) nodes.back()["why"] = tuner->why(i);
  }
  return nodes;
}

ExitStatus deliver(Shell& shell, const flow::Plan& plan, const flow::Engine& engine,
                   const RunArguments& arguments, const flow::Tuner* tuner) {
  const auto outputs = arguments.output.empty() ? outputs_of(plan, engine)
                                                : write_outputs(plan, engine, arguments.output);
  if (!outputs) return shell.report(outputs.error());
  if (shell.json)
    print_document(shell, {{"flow", plan.name},
                           {"outcome", "done"},
                           {arguments.output.empty() ? "outputs" : "output_files", *outputs},
                           {"nodes", nodes_of(plan, engine, tuner)}});
  else if (arguments.output.empty())
    print_document(shell, outputs->size() == 1 ? *outputs->begin() : *outputs);
  return ExitStatus::ok;
}

ExitStatus report_end(Shell& shell, const flow::Plan& plan, const flow::Engine& engine,
                      const RunArguments& arguments, const flow::Tuner* tuner) {
  if (engine.outcome() == flow::FlowOutcome::done)
    return deliver(shell, plan, engine, arguments, tuner);
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
                            {"nodes", nodes_of(plan, engine, tuner)},
                            {"exit_status", static_cast<int>(shell.status)}});
  else
    shell.note("orchid: " + reason + hint);
  return shell.status;
}

/// Where Ctrl-C ends the flow, and elsewhere the process. What was reached is kept before the calls
/// that run are waited for. Errors: those of keeping it.
Result<void> drive_flow(Shell& shell, const flow::Plan& plan, flow::Engine& engine, Client& client,
                        const RunArguments& arguments, bool needs_more, flow::Tuner* tuner) {
  if (tuner != nullptr) tuner->set_hosts(flow::host_situations(client.get("/v1/hosts")));
  const auto inbox = std::make_shared<flow::FlowInbox>();
  const flow::MadeCalls made =
      make_calls(shell, client, plan, arguments, needs_more, engine.key(), inbox);
  const bool follows = arguments.at_once == 0;
  if (follows) engine.set_window(made.calls->window());
  const FlowSignals signals(*inbox);
  std::function<void()> keep;
  if (!arguments.state.empty())
    keep = [&] {
      if (const auto kept = keep_state(engine, arguments.state); !kept && !shell.json)
        shell.note("what was reached could not be kept: " + kept.error().message);
    };
  FlowProgress progress(shell, plan, engine, std::move(keep));
  flow::HostLooks looks(client);
  flow::drive({.plan = plan,
               .engine = engine,
               .calls = *made.calls,
               .inbox = *inbox,
               .watch = progress,
               .tuner = tuner,
               .hosts = &looks,
               .follows_window = follows});
  return keep_state(engine, arguments.state);
}

ExitStatus run_flow(Shell& shell, const RunArguments& arguments) {
  const auto parsed = read_flow(arguments.file);
  if (!parsed) return shell.report(parsed.error());
  if (!parsed->faults.empty()) return report_faults(shell, parsed->faults);
  Client client = shell.client();
  flow::DeployedFunctions functions(&client);
  const flow::Checked checked = check_flow(parsed->document, functions);
  if (!checked.faults.empty()) return report_faults(shell, checked.faults);
  // What is wrong with the inputs is told before workers are asked for.
  const auto beginning = find_beginning(client, checked.plan, arguments);
  if (!beginning) return shell.report(beginning.error());
  auto engine = make_engine(checked.plan, *beginning, std::max(arguments.at_once, 1U));
  if (!engine) return shell.report(engine.error());
  const auto tuner = flow::make_tuner(checked.plan, opener_of_libraries(arguments.file));
  if (!tuner) return shell.report(tuner.error());
  const std::filesystem::path variants = variants_file();
  if (*tuner != nullptr && !variants.empty()) (*tuner)->set_kept(flow::read_variants(variants));
  if (const auto made = make_output_folder(arguments.output); !made)
    return shell.report(made.error());
  // One that is done, and whose results could not be delivered, needs no workers.
  Result<void> kept;
  if (engine->outcome() != flow::FlowOutcome::done)
    kept = drive_flow(shell, checked.plan, *engine, client, arguments, functions.any_needs_more(),
                      tuner->get());
  if (*tuner != nullptr) keep_learned(shell, **tuner, variants);
  if (!kept) {
    if (engine->outcome() != flow::FlowOutcome::done) return shell.report(kept.error());
    if (!shell.json) shell.note("what was reached could not be kept: " + kept.error().message);
  }
  const ExitStatus status = report_end(shell, checked.plan, *engine, arguments, tuner->get());
  if (status == ExitStatus::ok) remove_state(arguments.state);
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
      "a file that keeps what was reached, while the flow runs and when it does not end well; if "
      "it is there, the flow goes on from it");
  command->add_option("--workers", arguments->workers, "so many at most (default: 8)")
      ->check(CLI::Range(1U, 1024U));
  command
      ->add_option("--at-once", arguments->at_once,
                   "so many calls at most are under way (default: 4 for each worker, 1 if a node "
                   "has a deadline; "
                   "through the gateway 2 for each of --workers, 256 at most)")
      ->check(CLI::Range(1U, 65536U));
  command
      ->add_option_function<std::string>(
          "--within",
          [arguments](const std::string& text) {
            const auto within = parse_duration(text);
            if (!within) throw CLI::ValidationError("--within", within.error().message);
            arguments->within = *within;
          },
          "so long it may take to get workers (default: 10s); where they come by a batch system "
          "give it minutes")
      ->type_name("DURATION");
  command->add_flag("--by-gateway", arguments->by_gateway,
                    "call through the gateway, as `orchid invoke` does, instead of on a lease");
  command->callback([&shell, arguments] { shell.status = run_flow(shell, *arguments); });
}

}  // namespace orchid::cli
