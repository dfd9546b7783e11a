#include "flows/flow_source.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "calls/typed_call.h"
#include "foundation/files.h"
#include "terminal/documents.h"

namespace orchid::cli {

Result<flow::Parsed> read_flow(const std::string& file) {
  auto text = read_input_file(file);
  if (!text) return fail(std::move(text.error()));
  return flow::parse_document(std::string(as_text(*text)), file);
}

flow::KnownFunction DeployedFunctions::find(const std::string& reference) {
  using State = flow::KnownFunction::State;
  if (client_ == nullptr) return {};
  const auto missing = [](std::string message) {
    return flow::KnownFunction{
        .state = State::missing, .signature = {}, .message = std::move(message)};
  };
  try {
    auto entry = find_entry(*client_, reference);
    if (!entry) return missing(std::move(entry.error().message));
    any_needs_more_ = any_needs_more_ || !entry->function.needs.empty();
    return {.state = State::known, .signature = std::move(entry->signature), .message = {}};
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::not_found && error.kind() != ErrorKind::bad_request) throw;
    return missing(error.message() + "; deploy it with `orchid deploy`");
  }
}

flow::Checked check_flow(const flow::Document& document, DeployedFunctions& functions) {
  using Opened = flow::Surroundings::Opened;
  return flow::check(
      document,
      {.function = [&](const std::string& reference) { return functions.find(reference); },
       .open = [](const std::string& file, const std::string& beside) -> Result<Opened> {
         const auto path =
             (std::filesystem::path(beside).parent_path() / file).lexically_normal().string();
         std::error_code error;
         if (!std::filesystem::is_regular_file(path, error))
           return fail(ErrorCode::not_found, "there is no file '" + path + "'");
         auto text = read_input_file(path);
         if (!text) return fail(std::move(text.error()));
         return Opened{.file = path, .text = std::string(as_text(*text))};
       }});
}

ExitStatus report_faults(Shell& shell, const std::vector<flow::Fault>& faults) {
  shell.status = ExitStatus::usage;
  if (shell.json) {
    Document list = Document::array();
    for (const flow::Fault& fault : faults)
      list.push_back({{"file", fault.file},
                      {"line", fault.place.line},
                      {"column", fault.place.column},
                      {"message", fault.message}});
    report_document(shell, {{"error", "bad_request"},
                            {"message", to_string(faults.front())},
                            {"faults", list},
                            {"exit_status", static_cast<int>(shell.status)}});
    return shell.status;
  }
  for (const flow::Fault& fault : faults) shell.note(to_string(fault));
  return shell.status;
}

}  // namespace orchid::cli
