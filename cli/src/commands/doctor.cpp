// commands/doctor.cpp: orchid doctor: one line for each thing that must be right, and what to do
// about those that are not.
#include <CLI/CLI.hpp>
#include <memory>
#include <thread>

#include "commands/commands.h"
#include "doctor/examination.h"
#include "foundation/amounts.h"
#include "terminal/documents.h"
#include "terminal/table.h"

namespace orchid::cli {
namespace {

std::string_view word(Health health) {
  switch (health) {
    case Health::good:
      return "ok";
    case Health::doubtful:
      return "warning";
    case Health::broken:
      return "broken";
  }
  return "broken";
}

Document document_of(const std::vector<Finding>& findings) {
  Document checks = Document::array();
  for (const Finding& finding : findings)
    checks.push_back({{"check", finding.check},
                      {"health", word(finding.health)},
                      {"detail", finding.detail},
                      {"remedy", finding.remedy}});
  return {{"healthy", !is_any_broken(findings)}, {"checks", checks}};
}

void print_lines(Shell& shell, const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    std::string line(word(finding.health));
    line.resize(9, ' ');
    line += finding.check + ": " + finding.detail;
    if (!finding.remedy.empty()) line += "; " + finding.remedy;
    shell.print_line(line);
  }
}

ExitStatus run_doctor(Shell& shell, const std::string& wait) {
  const auto longest = parse_duration(wait);
  if (!longest) return shell.report(longest.error());
  const SystemClock clock;
  const auto pause = [](std::chrono::milliseconds time) { std::this_thread::sleep_for(time); };
  const std::vector<Finding> findings =
      examine_until_well(real_doctor_environment(shell.gateway),
                         {.longest = *longest, .clock = clock, .pause = pause});
  if (shell.json) {
    print_document(shell, document_of(findings));
  } else {
    print_lines(shell, findings);
  }
  return is_any_broken(findings) ? ExitStatus::orchid_failed : ExitStatus::ok;
}

ExitStatus print_calls(Shell& shell) {
  const auto calls = calls_of_functions(real_doctor_environment(shell.gateway));
  if (!calls) return shell.report(calls.error());
  Document rows = Document::array();
  Table table({"system call", "only"});
  for (const KeptCall& call : *calls) {
    rows.push_back({{"name", call.name}, {"only", call.only}});
    table.add({call.name, call.only});
  }
  if (shell.json)
    print_document(shell, {{"calls", rows}});
  else
    shell.print(table.text());
  return ExitStatus::ok;
}

}  // namespace

void add_doctor(CLI::App& app, Shell& shell) {
  auto* command =
      add_command(app, shell, "doctor",
                  "Check this machine and its Orchid; exit status 3 if something is broken",
                  "  orchid doctor\n  orchid doctor --json\n"
                  "  orchid up & orchid doctor --wait 30s   (until it is ready)");
  auto wait = std::make_shared<std::string>("0");
  command->add_option("--wait", *wait,
                      "check again until nothing is broken, for at most this long, such as 30s");
  auto sandbox = std::make_shared<bool>(false);
  command->add_flag("--sandbox", *sandbox,
                    "print the system calls that functions may make, instead of checking");
  command->callback([&shell, wait, sandbox] {
    shell.status = *sandbox ? print_calls(shell) : run_doctor(shell, *wait);
  });
}

}  // namespace orchid::cli
