// commands/logs.cpp: orchid logs: what an invocation has printed and logged.
#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>

#include "commands/commands.h"
#include "foundation/units.h"
#include "protocol/limits.h"
#include "terminal/answers.h"
#include "terminal/documents.h"
#include "terminal/traced_calls.h"

namespace orchid::cli {
namespace {

/// How long one round of following waits for the end of the invocation before it looks at the log
/// again.
constexpr std::chrono::milliseconds follow_step{500};

/// What was not kept goes to standard error: the log itself stays as it was written.
void note_dropped(Shell& shell, const InvocationLog& log) {
  if (log.dropped == 0) return;
  shell.note("orchid: " + std::to_string(log.dropped) +
             " more bytes were written and not kept: a call's log is cut at " +
             to_string(limits::log_size));
}

/// The whole log; what is there is printed as it comes, unless it is for one document.
InvocationLog read_log(Shell& shell, const Invocation& invocation, bool follow) {
  std::size_t seen = 0;
  while (true) {
    // The state first: what a finished invocation has logged is complete.
    const bool finished =
        !follow ||
        invocation.wait(seen == 0 ? std::chrono::milliseconds(0) : follow_step).finished();
    InvocationLog log = invocation.log();
    if (!shell.json && log.text.size() > seen) shell.print(std::string_view(log.text).substr(seen));
    seen = std::max(seen, log.text.size());
    if (finished) return log;
    if (seen == 0) static_cast<void>(invocation.wait(follow_step));
  }
}

/// Of the calls of a lease that its program has traced.
ExitStatus run_logs_of_lease(Shell& shell, const std::string& lease) {
  const std::string calls = shell.client().get("/v1/leases/" + lease + "/calls");
  if (shell.json) {
    print_answer(shell, calls);
    return ExitStatus::ok;
  }
  const std::string text = logs_text(calls);
  if (text.empty())
    shell.note(
        "no call of this lease was traced; calls of a crew are, with CrewCallOptions::trace");
  shell.print(text);
  return ExitStatus::ok;
}

ExitStatus run_logs(Shell& shell, const std::string& id, bool follow) {
  if (id.starts_with("l-")) return run_logs_of_lease(shell, id);
  const InvocationLog log = read_log(shell, shell.client().invocation(id), follow);
  if (shell.json) {
    print_document(shell, {{"id", id}, {"log", log.text}, {"dropped", log.dropped}});
  } else {
    note_dropped(shell, log);
  }
  return ExitStatus::ok;
}

}  // namespace

void add_logs(CLI::App& app, Shell& shell) {
  auto* command = add_command(
      app, shell, "logs", "Print what an invocation has written to stdout, stderr and its log",
      "  orchid logs i-0123456789abcdef\n  orchid logs --follow i-0123456789abcdef\n"
      "  orchid logs l-3-17   (calls of a crew that its program has traced)");
  auto id = std::make_shared<std::string>();
  auto follow = std::make_shared<bool>(false);
  command->add_option("ID", *id, "the invocation, or the lease")->required();
  command->add_flag("--follow,-f", *follow, "keep printing until the invocation has finished");
  command->callback([&shell, id, follow] { shell.status = run_logs(shell, *id, *follow); });
}

}  // namespace orchid::cli
