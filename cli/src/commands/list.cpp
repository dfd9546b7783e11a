// commands/list.cpp: orchid list: the functions that are deployed.
#include <CLI/CLI.hpp>
#include <memory>

#include "commands/commands.h"
#include "foundation/units.h"
#include "protocol/digest.h"
#include "terminal/documents.h"
#include "terminal/table.h"

namespace orchid::cli {
namespace {

std::string joined_by_commas(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

ExitStatus list_names(Shell& shell, const std::vector<FunctionInfo>& functions) {
  Document names = Document::array();
  for (const FunctionInfo& info : functions) {
    if (!shell.json) shell.print_line(info.name);
    names.push_back(info.name);
  }
  if (shell.json) print_document(shell, {{"names", names}});
  return ExitStatus::ok;
}

ExitStatus run_list(Shell& shell, bool names_only) {
  Client client = shell.client();
  if (names_only) return list_names(shell, client.functions());
  if (shell.json) {
    print_answer(shell, client.get("/v1/functions"));
    return ExitStatus::ok;
  }
  Table table({"name", "version", "size", "entries", "targets"});
  for (const FunctionInfo& info : client.functions()) {
    std::vector<std::string> entries;
    for (const EntryInfo& entry : info.entries) entries.push_back(entry.name);
    table.add({info.name, std::string(short_digest(info.version)), to_string(ByteCount{info.size}),
               joined_by_commas(entries), joined_by_commas(info.targets)});
  }
  if (table.empty()) {
    shell.note("no functions are deployed; 'orchid deploy FILE' adds one");
  } else {
    shell.print(table.text());
  }
  return ExitStatus::ok;
}

}  // namespace

void add_list(CLI::App& app, Shell& shell) {
  auto* command = add_command(app, shell, "list", "Show the deployed functions",
                              "  orchid list\n  orchid list --json\n  orchid list --names");
  auto names_only = std::make_shared<bool>(false);
  command->add_flag("--names", *names_only, "names only, one in a line");
  command->callback([&shell, names_only] { shell.status = run_list(shell, *names_only); });
}

}  // namespace orchid::cli
