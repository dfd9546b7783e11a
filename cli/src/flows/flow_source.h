// flows/flow_source.h: from a file to a plan, with what the gateway knows of the functions.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "flow/checker.h"
#include "flow/document.h"
#include "foundation/result.h"
#include "orchid/client.h"
#include "terminal/shell.h"

namespace orchid::cli {

/// Reads the document `file`; "-" is standard input. Errors: those of reading.
[[nodiscard]] Result<flow::Parsed> read_flow(const std::string& file);

/// What the gateway knows of functions; of those of one flow, which are asked for once.
class DeployedFunctions {
 public:
  /// Null: nobody is asked.
  explicit DeployedFunctions(Client* client) : client_(client) {}
  [[nodiscard]] flow::KnownFunction find(const std::string& reference);
  /// Whether one of them wants other workers than those with one core.
  [[nodiscard]] bool any_needs_more() const { return any_needs_more_; }

 private:
  Client* client_;
  bool any_needs_more_ = false;
};

/// Also of the flows that are its nodes: their files lie beside the one that names them.
[[nodiscard]] flow::Checked check_flow(const flow::Document& document,
                                       DeployedFunctions& functions);

/// One a line, or with --json as one document. Returns `usage`.
ExitStatus report_faults(Shell& shell, const std::vector<flow::Fault>& faults);

}  // namespace orchid::cli
