#include "commands/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>
#include <sstream>

#include "commands/commands.h"

namespace orchid::cli {
namespace {

constexpr auto description =
    "Orchid: serverless functions for batch-managed clusters.\n"
    "Start one on this machine with 'orchid up'; 'orchid COMMAND --help' shows examples.";
constexpr auto statuses =
    "Exit status: 0 ok, 1 the function failed, 2 wrong usage, 3 Orchid failed, 4 deadline, "
    "5 evicted, 6 denied.\n"
    "The gateway is found through ORCHID_GATEWAY, or where 'orchid up' runs; a token through "
    "ORCHID_TOKEN.\n"
    "Durations are written like 500ms, 30s or '1h 30m', sizes like 64MiB.";

/// The first word that is neither a common option nor the value of one.
std::vector<std::string>::const_iterator find_command(const std::vector<std::string>& arguments) {
  auto word = arguments.begin();
  while (word != arguments.end() && (*word == "--json" || word->starts_with("--gateway")))
    word += *word == "--gateway" && word + 1 != arguments.end() ? 2 : 1;
  return word;
}

ExitStatus explain_parse_error(const CLI::App& app, const CLI::ParseError& error,
                               const std::vector<std::string>& arguments, Shell& shell) {
  std::ostringstream out;
  std::ostringstream err;
  if (app.exit(error, out, err) == 0) {  // --help or --version
    shell.print(out.str());
    return ExitStatus::ok;
  }
  const auto chosen = app.get_subcommands();
  const auto command = find_command(arguments);
  if (command != arguments.end() && !command->starts_with('-') && chosen.empty())
    return shell.report_usage("there is no command '" + *command + "'; 'orchid --help' lists them");
  const std::string help =
      chosen.empty() ? "orchid --help" : "orchid " + chosen.front()->get_name() + " --help";
  // What is wrong with the words that are there comes before those that are missing.
  for (const std::string& word : app.remaining(/*recurse=*/true))
    if (word.size() > 1 && word.starts_with('-'))
      return shell.report_usage("there is no option '" + word + "' here; see '" + help + "'");
  return shell.report_usage(std::string(error.what()) + "; see '" + help + "'");
}

}  // namespace

ExitStatus run_command_line(const std::vector<std::string>& arguments, Shell& shell) {
  CLI::App app(description, "orchid");
  app.footer(statuses);
  app.set_version_flag("--version", "orchid " ORCHID_VERSION);
  app.require_subcommand(1);
  add_common_options(app, shell);
  add_commands(app, shell);
  try {
    auto end = arguments.end();
    if (const auto command = find_command(arguments);
        command != arguments.end() && *command == "build") {
      end = std::ranges::find(arguments, "--");
      if (end != arguments.end()) shell.behind_dashes.assign(end + 1, arguments.end());
    }
    std::vector<std::string> reversed(std::make_reverse_iterator(end),
                                      arguments.rend());  // as CLI11 takes them
    app.parse(std::move(reversed));
    return shell.status;
  } catch (const CLI::ParseError& error) {
    return explain_parse_error(app, error, arguments, shell);
  } catch (const Error& error) {
    return shell.report(error);
  } catch (const nlohmann::json::exception& error) {
    return shell.report(Failure{
        ErrorCode::internal, std::string("the gateway's answer could not be understood: ") +
                                 error.what() + "; compare 'orchid --version' with its /version"});
  } catch (const std::exception& error) {
    return shell.report(Failure{ErrorCode::internal, error.what()});
  }
}

}  // namespace orchid::cli
