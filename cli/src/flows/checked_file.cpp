#include "flows/checked_file.h"

#include <utility>

#include "flows/client_if_any.h"
#include "flows/flow_source.h"

namespace orchid::cli {
namespace {

/// A client, or nothing where no Orchid is to be found; then the document's own word counts.
std::optional<Client> client_of_checks(Shell& shell, bool offline) {
  if (offline) return std::nullopt;
  auto client = client_if_any(shell);
  if (client) return std::move(*client);
  if (!shell.json)
    shell.note("no Orchid answers, so that functions are taken as the flow declares them (" +
               client.error() + ")");
  return std::nullopt;
}

}  // namespace

std::optional<CheckedFile> checked_file(Shell& shell, const std::string& file, bool offline) {
  auto parsed = read_flow(file);
  if (!parsed) {
    shell.report(parsed.error());
    return std::nullopt;
  }
  if (!parsed->faults.empty()) {
    report_faults(shell, parsed->faults);
    return std::nullopt;
  }
  auto client = client_of_checks(shell, offline);
  flow::DeployedFunctions functions(client ? &*client : nullptr);
  flow::Checked checked = check_flow(parsed->document, functions);
  if (!checked.faults.empty()) {
    report_faults(shell, checked.faults);
    return std::nullopt;
  }
  return CheckedFile{.document = std::move(parsed->document),
                     .plan = std::move(checked.plan),
                     .client = std::move(client),
                     .needs = functions.needs()};
}

}  // namespace orchid::cli
