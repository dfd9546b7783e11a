// flows/flow_source.h: a flow's document from a file, and what is wrong with it for people.
#pragma once
#include <string>
#include <vector>

#include "flow/document.h"
#include "foundation/result.h"
#include "terminal/shell.h"

namespace orchid::cli {

/// Reads the document `file`; "-" is standard input. Errors: those of reading.
[[nodiscard]] Result<flow::Parsed> read_flow(const std::string& file);

/// One a line, or with --json as one document. Returns `usage`.
ExitStatus report_faults(Shell& shell, const std::vector<flow::Fault>& faults);

}  // namespace orchid::cli
