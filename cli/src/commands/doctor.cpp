// commands/doctor.cpp: orchid doctor: one line for each thing that must be right, and what to do
// about those that are not.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "commands/commands.h"
#include "doctor/examination.h"

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

ExitStatus run_doctor(Shell& shell) {
  const std::vector<Finding> findings = examine(real_doctor_environment(shell.gateway));
  ExitStatus status = ExitStatus::ok;
  nlohmann::json list = nlohmann::json::array();
  for (const Finding& finding : findings) {
    if (finding.health == Health::broken) status = ExitStatus::orchid_failed;
    if (shell.json) {
      list.push_back({{"check", finding.check},
                      {"health", word(finding.health)},
                      {"detail", finding.detail},
                      {"remedy", finding.remedy}});
      continue;
    }
    std::string line(word(finding.health));
    line.resize(9, ' ');
    line += finding.check + ": " + finding.detail;
    if (!finding.remedy.empty()) line += "; " + finding.remedy;
    shell.print_line(line);
  }
  if (shell.json)
    shell.print_line(nlohmann::json({{"healthy", status == ExitStatus::ok}, {"checks", list}})
                         .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  return status;
}

}  // namespace

void add_doctor(CLI::App& app, Shell& shell) {
  auto* command =
      add_command(app, shell, "doctor",
                  "Check this machine and its Orchid; exit status 3 when something is broken",
                  "  orchid doctor\n  orchid doctor --json");
  command->callback([&shell] { shell.status = run_doctor(shell); });
}

}  // namespace orchid::cli
