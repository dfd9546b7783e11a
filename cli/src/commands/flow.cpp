// commands/flow.cpp: orchid flow: graphs of functions: new ones, whether they are right, what they
// look like. Running one is in flow_run.cpp.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <utility>

#include "commands/commands.h"
#include "flows/checked_file.h"
#include "flows/flow_report.h"
#include "flows/template_source.h"
#include "foundation/files.h"
#include "terminal/documents.h"
#include "terminal/table.h"

namespace orchid::cli {
namespace {

namespace fs = std::filesystem;

struct FlowArguments {
  std::string file;
  bool offline = false;
  std::string as = "text";
};

ExitStatus run_check(Shell& shell, const FlowArguments& arguments) {
  const auto checked = checked_file(shell, arguments.file, arguments.offline);
  if (!checked) return shell.status;
  const std::size_t nodes = checked->plan.nodes.size();
  if (shell.json) {
    print_document(shell, {{"flow", checked->plan.name},
                           {"nodes", nodes},
                           {"compared_with_deployed", checked->client.has_value()},
                           {"faults", Document::array()}});
    return ExitStatus::ok;
  }
  shell.print_line(arguments.file + ": good; " + std::to_string(nodes) +
                   (nodes == 1 ? " node" : " nodes"));
  return ExitStatus::ok;
}

ExitStatus run_show(Shell& shell, const FlowArguments& arguments) {
  if (is_flow_id(arguments.file)) return show_flow(shell, arguments.file);
  const auto checked = checked_file(shell, arguments.file, arguments.offline);
  if (!checked) return shell.status;
  if (shell.json)
    print_document(shell, Document::parse(to_json(checked->document)));
  else if (arguments.as == "json")
    shell.print(to_json(checked->document));
  else if (arguments.as == "yaml")
    shell.print(to_yaml(checked->document));
  else if (arguments.as == "dot")
    shell.print(to_dot(checked->plan));
  else
    shell.print(to_text(checked->plan));
  return ExitStatus::ok;
}

struct NewArguments {
  std::string name;
  std::string folder;
  std::string out = "-";
};

ExitStatus list_templates(Shell& shell, const std::vector<TemplateText>& templates) {
  Document list = Document::array();
  Table table({"template", "what it is"});
  for (const TemplateText& one : templates) {
    list.push_back({{"name", one.name}, {"summary", one.summary}});
    table.add({one.name, one.summary});
  }
  if (shell.json)
    print_document(shell, {{"templates", list}});
  else
    shell.print(table.text());
  return ExitStatus::ok;
}

ExitStatus run_new(Shell& shell, const NewArguments& arguments) {
  const std::vector<TemplateText> templates = known_templates(shell, arguments.folder);
  if (arguments.name.empty()) return list_templates(shell, templates);
  const auto found = find_template(templates, arguments.name);
  if (!found) return shell.report(found.error());
  if (arguments.out == "-") {
    if (shell.json)
      print_document(shell, {{"name", found->name}, {"text", found->text}});
    else
      shell.print(found->text);
    return ExitStatus::ok;
  }
  std::error_code error;
  if (fs::exists(arguments.out, error))
    return shell.report_usage("'" + arguments.out + "' is there already; name another file");
  if (const auto written = write_output_file(arguments.out, as_bytes(found->text)); !written)
    return shell.report(written.error());
  if (shell.json) print_document(shell, {{"name", found->name}, {"file", arguments.out}});
  return ExitStatus::ok;
}

void add_file(CLI::App* command, FlowArguments& arguments, const char* what) {
  command->add_option("FILE", arguments.file, what)->required();
  command->add_flag("--offline", arguments.offline,
                    "ask no Orchid: functions are what the flow says of them");
}

void add_check(CLI::App& flows, Shell& shell) {
  auto* command = add_command(flows, shell, "check", "Say all that is wrong with a flow",
                              "  orchid flow check search.yaml");
  auto arguments = std::make_shared<FlowArguments>();
  add_file(command, *arguments, "the flow, YAML or JSON; -: standard input");
  command->callback([&shell, arguments] { shell.status = run_check(shell, *arguments); });
}

void add_show(CLI::App& flows, Shell& shell) {
  auto* command = add_command(flows, shell, "show",
                              "Show what a flow does, as text or a picture, or how it stands",
                              "  orchid flow show search.yaml\n"
                              "  orchid flow show search.yaml --as dot | dot -Tsvg > search.svg\n"
                              "  orchid flow show fl-0123456789abcdef");
  auto arguments = std::make_shared<FlowArguments>();
  add_file(command, *arguments,
           "the flow, YAML or JSON; -: standard input; or the id of one that was submitted");
  command
      ->add_option("--as", arguments->as,
                   "text, dot (a picture for Graphviz), or yaml or json: the document in one form")
      ->check(CLI::IsMember({"text", "dot", "yaml", "json"}));
  command->callback([&shell, arguments] { shell.status = run_show(shell, *arguments); });
}

void add_new(CLI::App& flows, Shell& shell) {
  auto* command =
      add_command(flows, shell, "new", "Write a flow from a template, with its functions left open",
                  "  orchid flow new\n  orchid flow new search --out my-search.yaml");
  auto arguments = std::make_shared<NewArguments>();
  command->add_option("TEMPLATE", arguments->name, "without it, templates are listed");
  command->add_option("--out,-o", arguments->out, "a new file (default: standard output)");
  command->add_option("--templates", arguments->folder,
                      "a folder with templates of your own, beside those of "
                      "$ORCHID_FLOW_TEMPLATES, the gateway's site and Orchid");
  command->callback([&shell, arguments] { shell.status = run_new(shell, *arguments); });
}

}  // namespace

void add_flow(CLI::App& app, Shell& shell) {
  auto* flows = app.add_subcommand("flow", "Check, show, plan and run graphs of functions");
  flows->footer(
      "examples:\n  orchid flow new map --out my.yaml\n  orchid flow check my.yaml\n"
      "  orchid flow run my.yaml --input whole='[1,2,3]' --input pieces=2\n"
      "  orchid flow submit my.yaml --input whole='[1,2,3]' --input pieces=2");
  flows->require_subcommand(1);
  add_check(*flows, shell);
  add_show(*flows, shell);
  add_new(*flows, shell);
  add_flow_plan(*flows, shell);
  add_flow_run(*flows, shell);
  add_flow_submit(*flows, shell);
  add_flow_submitted(*flows, shell);
}

}  // namespace orchid::cli
