// commands/result.cpp: orchid result: the output of an invocation.
#include <CLI/CLI.hpp>
#include <memory>

#include "calls/reply_delivery.h"
#include "commands/commands.h"
#include "foundation/amounts.h"

namespace orchid::cli {
namespace {

struct ResultArguments {
  std::string id;
  std::string out = "-";
  std::string wait = "0";
};

ExitStatus run_result(Shell& shell, const ResultArguments& arguments) {
  const auto wait = parse_duration(arguments.wait);
  if (!wait) return shell.report(wait.error());
  const auto patience = std::chrono::ceil<std::chrono::milliseconds>(*wait);
  const Reply reply = shell.client().invocation(arguments.id).output(patience);
  const auto delivered = deliver_reply(shell, reply, {.file = arguments.out, .signature = ""});
  return delivered ? ExitStatus::ok : shell.report(delivered.error());
}

}  // namespace

void add_result(CLI::App& app, Shell& shell) {
  auto* command =
      add_command(app, shell, "result", "Print the output of an invocation that has finished",
                  "  orchid result i-0123456789abcdef > y.bin\n"
                  "  orchid result i-0123456789abcdef --wait 1h --out y.bin");
  auto arguments = std::make_shared<ResultArguments>();
  command->add_option("ID", arguments->id, "the invocation")->required();
  command->add_option("--out,-o", arguments->out, "file for the output (default: standard output)");
  command->add_option("--wait", arguments->wait, "how long to wait for it, such as 30s or '1h 5m'");
  command->callback([&shell, arguments] { shell.status = run_result(shell, *arguments); });
}

}  // namespace orchid::cli
