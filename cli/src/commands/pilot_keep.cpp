// commands/pilot_keep.cpp: orchid pilot keep: pilots by demand, until it is stopped. A gateway
// whose configuration says so keeps one running.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <memory>

#include "commands/commands.h"
#include "commands/pilot_terms.h"
#include "foundation/amounts.h"
#include "pilot/ending.h"
#include "pilot/pilot_keeper.h"

namespace orchid::cli {
namespace {

using pilot::PilotKeeper;
using pilot::SubmissionGate;

struct KeepArguments {
  PilotTerms terms;
  pilot::PilotOptions controller;
  std::string shortest = "2m";
  std::string longest = "1h";
  std::string idle_time = "60s";
  std::string start_within = "3m";
  std::string join_within = "3m";
  std::string memory_per_core;
  bool while_input_is_open = false;
  std::int64_t wanted_since = 0;
};

Result<PilotKeeper::Options> options_of(const KeepArguments& arguments,
                                        const pilot::PilotOwner& owner) {
  auto request = complete(arguments.terms, owner);
  if (!request) return fail(std::move(request.error()));
  if (request->partition.empty() && request->qos.empty())
    return fail(ErrorCode::bad_request,
                "pilots on demand need --partition or --qos: name one whose jobs are preempted by "
                "others, even if it is the cluster's default");
  PilotKeeper::Options options{.controller = arguments.controller, .request = std::move(*request)};
  pilot::PilotOptions& controller = options.controller;
  struct Time {
    const char* option;
    const std::string& text;
    std::chrono::seconds& value;
  };
  for (const Time& time : {Time{"--shortest", arguments.shortest, controller.shortest},
                           Time{"--longest", arguments.longest, controller.longest},
                           Time{"--idle-time", arguments.idle_time, controller.shrink_after},
                           Time{"--start-within", arguments.start_within, controller.no_room_after},
                           Time{"--join-within", arguments.join_within, controller.join_within}}) {
    auto read = seconds_of(time.text, time.option);
    if (!read) return fail(std::move(read.error()));
    time.value = *read;
  }
  options.controller.renew_before =
      std::min(options.controller.renew_before, options.controller.shortest / 2);
  if (auto good = pilot::check(options.controller); !good) return fail(std::move(good.error()));
  if (!arguments.memory_per_core.empty()) {
    auto memory = parse_byte_count(arguments.memory_per_core);
    if (!memory) return fail(std::move(memory.error()).while_doing("--memory-per-core"));
    options.controller.memory_per_core = *memory;
  }
  return options;
}

ExitStatus run_keep(Shell& shell, const KeepArguments& arguments) {
  const auto owner = owner_for_pilots(shell.gateway, arguments.terms.state);
  if (!owner) return shell.report(owner.error());
  auto options = options_of(arguments, *owner);
  if (!options) return shell.report(options.error());
  if (const auto script = pilot::batch_script(options->request); !script)
    return shell.report(script.error());
  const pilot::Ending ending(arguments.while_input_is_open);
  Client client = shell.client();
  const pilot::SlurmCommands slurm = slurm_commands();
  // Whoever starts pilots by demand wants some, whatever was wanted before.
  const SubmissionGate gate(
      owner->state,
      arguments.wanted_since != 0
          ? SubmissionGate::SystemTime(std::chrono::milliseconds(arguments.wanted_since))
          : std::chrono::system_clock::now());
  const SystemClock clock;
  PilotKeeper keeper(std::move(*options),
                     {.get = [&client](const std::string& path) { return client.get(path); },
                      .slurm = slurm,
                      .gate = gate,
                      .clock = clock,
                      .say = [&shell](const std::string& line) { shell.note(line); }});
  if (const auto kept = pilot::keep_pilots(keeper, clock, ending); !kept)
    return shell.report(kept.error());
  return ExitStatus::ok;
}

}  // namespace

void add_pilot_keep(CLI::App& pilots, Shell& shell) {
  auto* command = add_command(
      pilots, shell, "keep", "Submit and cancel pilots on demand, until Ctrl-C",
      "  orchid pilot keep --partition idle --max-queued 4\n"
      "  (a gateway with [pilots] automatic = true in its configuration runs this itself)");
  auto arguments = std::make_shared<KeepArguments>();
  add_pilot_terms(*command, arguments->terms);
  pilot::PilotOptions& controller = arguments->controller;
  command
      ->add_option("--max-queued", controller.most_queued, "how many pilots may wait in the queue")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_option("--max", controller.most_running, "how many pilots there may be in all")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  command->add_option("--max-cores", controller.most_cores, "the most cores of one pilot")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  command->add_option("--shortest", arguments->shortest,
                      "the shortest time of a pilot (default: 2m)");
  command->add_option("--longest", arguments->longest, "the longest time of a pilot (default: 1h)");
  command->add_option("--idle-time", arguments->idle_time,
                      "cancel a pilot that nobody has used for this time (default: 60s)");
  command->add_option(
      "--start-within", arguments->start_within,
      "try another node if Slurm finds no room for this time on one that seems to be "
      "free (default: 3m)");
  command->add_option("--join-within", arguments->join_within,
                      "cancel a pilot that has run for this time and has not joined (default: 3m)");
  command->add_option(
      "--memory-per-core", arguments->memory_per_core,
      "memory of each pilot for each core, such as 1GiB (default: the partition's)");
  command->add_flag("--while-input-is-open", arguments->while_input_is_open,
                    "end when standard input is closed, for a program that starts this one");
  command->add_option("--wanted-since", arguments->wanted_since,
                      "milliseconds since 1970: ignore pauses of 'orchid pilot stop --all' that "
                      "began before (default: ignore all)");
  command->callback([&shell, arguments] { shell.status = run_keep(shell, *arguments); });
}

}  // namespace orchid::cli
