// commands/logs.cpp: orchid logs: what an invocation has printed and logged.
#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>

#include "commands/commands.h"

namespace orchid::cli {
namespace {

/// How long one round of following waits for the end of the invocation before it looks at the log
/// again.
constexpr std::chrono::milliseconds follow_step{500};

ExitStatus run_logs(Shell& shell, const std::string& id, bool follow) {
  const Invocation invocation = shell.client().invocation(id);
  std::size_t printed = 0;
  while (true) {
    // The state first: what a finished invocation has logged is complete.
    const bool finished =
        !follow ||
        invocation.wait(printed == 0 ? std::chrono::milliseconds(0) : follow_step).finished();
    const std::string text = invocation.logs();
    if (text.size() > printed) shell.print(std::string_view(text).substr(printed));
    printed = std::max(printed, text.size());
    if (finished) return ExitStatus::ok;
    if (printed == 0) (void)invocation.wait(follow_step);
  }
}

}  // namespace

void add_logs(CLI::App& app, Shell& shell) {
  auto* command = add_command(
      app, shell, "logs", "Print what an invocation has written to stdout, stderr and its log",
      "  orchid logs i-0123456789abcdef\n  orchid logs --follow i-0123456789abcdef");
  auto id = std::make_shared<std::string>();
  auto follow = std::make_shared<bool>(false);
  command->add_option("ID", *id, "the invocation")->required();
  command->add_flag("--follow,-f", *follow, "go on until it is finished");
  command->callback([&shell, id, follow] { shell.status = run_logs(shell, *id, *follow); });
}

}  // namespace orchid::cli
