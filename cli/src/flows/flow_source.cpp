#include "flows/flow_source.h"

#include <utility>

#include "foundation/files.h"
#include "terminal/documents.h"

namespace orchid::cli {

Result<flow::Parsed> read_flow(const std::string& file) {
  auto text = read_input_file(file);
  if (!text) return fail(std::move(text.error()));
  return flow::parse_document(std::string(as_text(*text)), file);
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
