// commands/describe.cpp: orchid describe: all that is known about one function.
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands/commands.h"
#include "terminal/table.h"

namespace orchid::cli {
namespace {

using nlohmann::json;

std::string shown(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

ExitStatus run_describe(Shell& shell, const std::string& name) {
  const FunctionInfo info = shell.client().describe(name);
  if (shell.json) {
    shell.print_line(info.json);
    return ExitStatus::ok;
  }
  Table table({"what", "value"});
  table.add({"name", info.name});
  table.add({"version", info.version});
  for (const EntryInfo& entry : info.entries)
    table.add(
        {"entry", entry.name + (entry.signature.empty() ? "  (bytes)" : "  " + entry.signature)});
  for (const std::string& target : info.targets) table.add({"target", target});
  const json document = json::parse(info.json);
  for (const auto& [key, value] : document.items()) {
    if (key == "name" || key == "version" || key == "entries" || key == "targets" ||
        value.is_null())
      continue;
    if (value.is_object()) {
      for (const auto& [inner, part] : value.items()) table.add({key + "." + inner, shown(part)});
    } else {
      table.add({key, shown(value)});
    }
  }
  shell.print(table.text());
  return ExitStatus::ok;
}

}  // namespace

void add_describe(CLI::App& app, Shell& shell) {
  auto* command =
      add_command(app, shell, "describe",
                  "Show one function: entries, signatures, targets, how its calls ended",
                  "  orchid describe saxpy\n  orchid describe saxpy --json");
  auto name = std::make_shared<std::string>();
  command->add_option("NAME", *name, "the function")->required();
  command->callback([&shell, name] { shell.status = run_describe(shell, *name); });
}

}  // namespace orchid::cli
