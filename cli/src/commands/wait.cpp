// commands/wait.cpp: orchid wait: until invocations are finished; the exit status says how they
// ended.
#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>

#include "calls/call_watch.h"
#include "commands/commands.h"
#include "foundation/amounts.h"
#include "terminal/documents.h"

namespace orchid::cli {
namespace {

struct WaitArguments {
  std::vector<std::string> ids;
  std::string timeout = "24h";
};

/// The exit status of the first that did not go well; `deadline` when the time was up.
ExitStatus run_wait(Shell& shell, const WaitArguments& arguments) {
  const auto timeout = parse_duration(arguments.timeout);
  if (!timeout) return shell.report(timeout.error());
  const auto end = std::chrono::steady_clock::now() + *timeout;
  Client client = shell.client();
  ExitStatus worst = ExitStatus::ok;
  for_each_name(shell, arguments.ids, "invocations", [&](const std::string& id) {
    const auto left =
        std::max(end - std::chrono::steady_clock::now(), std::chrono::steady_clock::duration(0));
    const InvocationStatus status = wait_with_bar(
        shell, client.invocation(id), std::chrono::ceil<std::chrono::milliseconds>(left));
    const std::string how = status.finished() ? status.outcome : "still " + status.state;
    if (!shell.json)
      shell.print_line(id + "  " + how + (status.message.empty() ? "" : "  " + status.message));
    const ExitStatus this_one =
        status.finished() ? exit_status_of_outcome(status.outcome) : ExitStatus::deadline;
    if (worst == ExitStatus::ok) worst = this_one;
    return Document::parse(status.json);
  });
  return worst;
}

}  // namespace

void add_wait(CLI::App& app, Shell& shell) {
  auto* command =
      add_command(app, shell, "wait",
                  "Wait until invocations are finished; the exit status says how they ended",
                  "  orchid wait i-0123456789abcdef\n  orchid wait $(cat ids) --timeout 10m");
  auto arguments = std::make_shared<WaitArguments>();
  command->add_option("ID", arguments->ids, "invocations")->required();
  command->add_option("--timeout", arguments->timeout,
                      "give up after this long, exit status 4 (default: 24h)");
  command->callback([&shell, arguments] { shell.status = run_wait(shell, *arguments); });
}

}  // namespace orchid::cli
