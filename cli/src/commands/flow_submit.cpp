// commands/flow_submit.cpp: orchid flow submit: hands a flow over, which then runs by itself.
#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "commands/commands.h"
#include "flow_run/deployed_functions.h"
#include "flows/flow_source.h"
#include "flows/flow_values.h"
#include "foundation/files.h"
#include "terminal/documents.h"

namespace orchid::cli {
namespace {

struct SubmitArguments {
  std::string file;
  std::vector<std::string> inputs;
  std::string key;
};

/// Its faults are told here, all of them; the gateway would look at it again in any case.
ExitStatus run_submit(Shell& shell, const SubmitArguments& arguments) {
  const auto text = read_input_file(arguments.file);
  if (!text) return shell.report(text.error());
  FlowSubmission submission{.document = std::string(as_text(*text)), .file = arguments.file};
  submission.idempotency_key = arguments.key;
  const flow::Parsed parsed = flow::parse_document(submission.document, arguments.file);
  if (!parsed.faults.empty()) return report_faults(shell, parsed.faults);
  Client client = shell.client();
  flow::DeployedFunctions functions(&client);
  std::map<std::string, std::string> opened;
  const flow::Checked checked = flow::check_flow(parsed.document, functions, &opened);
  if (!checked.faults.empty()) return report_faults(shell, checked.faults);
  submission.files.assign(opened.begin(), opened.end());
  const auto inputs =
      input_values(checked.plan, with_data_ids(client, checked.plan, arguments.inputs));
  if (!inputs) return shell.report(inputs.error());
  for (std::size_t i = 0; i < inputs->size(); ++i)
    submission.encoded_inputs.emplace_back(checked.plan.inputs[i].name, *(*inputs)[i]);
  const SubmittedFlow flow = client.submit_flow(submission);
  if (shell.json)
    print_answer(shell, flow.status().json);
  else
    shell.print_line(flow.id());
  return ExitStatus::ok;
}

}  // namespace

void add_flow_submit(CLI::App& flows, Shell& shell) {
  auto* command = add_command(flows, shell, "submit",
                              "Hand a flow over, which goes on by itself; prints its id",
                              "  orchid flow submit search.yaml --input length=5\n"
                              "  orchid flow watch $(orchid flow submit sweep.yaml -i points=200)");
  auto arguments = std::make_shared<SubmitArguments>();
  command->add_option("FILE", arguments->file, "the flow, YAML or JSON; -: standard input")
      ->required();
  command->add_option("--input,-i", arguments->inputs,
                      "NAME=VALUE, text or JSON, or NAME=@FILE: JSON, .npy, text or bytes");
  command->add_option("--key", arguments->key,
                      "the same key again is the same flow: for scripts that may run twice");
  command->callback([&shell, arguments] { shell.status = run_submit(shell, *arguments); });
}

}  // namespace orchid::cli
