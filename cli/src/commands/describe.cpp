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

/// "12: 2 ok, 10 function_crashed", and what follows from it.
std::string shown_calls(const json& calls) {
  std::string text = shown(calls.value("total", json(0)));
  const char* separator = ": ";
  const json ended = calls.value("ended", json::object());
  for (const auto& [outcome, count] : ended.items()) {
    text += separator + shown(count) + " " + outcome;
    separator = ", ";
  }
  if (const json tier = calls.value("tier", json()); tier.is_string())
    text += tier == "quick" ? "; the last ran quickly made code (quick)"
                            : "; the last ran the best code (" + shown(tier) + ")";
  if (const auto delay = calls.value("replacement_delay_ms", 0); delay > 0)
    text += "; its calls end workers, so new ones are given out slowly (the last after " +
            std::to_string(delay) + " ms)";
  return text;
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
  for (const json& kernel : document.value("kernels", json::array()))
    table.add({"kernel", kernel.value("name", "") + "  " +
                             std::to_string(kernel.value("args_size", 0)) + " bytes of arguments" +
                             (kernel.value("on_cores", true) ? "" : ", for GPUs only")});
  for (const auto& [key, value] : document.items()) {
    if (key == "name" || key == "version" || key == "entries" || key == "targets" ||
        key == "kernels" || key == "alternatives" || value.is_null())
      continue;
    if (key == "calls") {
      table.add({key, shown_calls(value)});
    } else if (value.is_object()) {
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
