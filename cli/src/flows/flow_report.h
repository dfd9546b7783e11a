// flows/flow_report.h: what people are told of flows that were handed over.
#pragma once
#include <string>

#include "orchid/submitted_flow.h"
#include "terminal/exit_status.h"
#include "terminal/shell.h"

namespace orchid::cli {

/// "fl-0123456789abcdef", and not a file.
[[nodiscard]] bool is_flow_id(const std::string& text);

/// Of an event of SubmittedFlow::watch; empty: nothing that people want to read.
[[nodiscard]] std::string line_of_event(const FlowEvent& event);

/// Why a flow is not done, and what to do.
[[nodiscard]] std::string reason_of(const FlowStatus& status);

/// Of a flow that was watched to its end.
[[nodiscard]] ExitStatus exit_status_of_flow(const FlowStatus& status);

/// How it stands, with each of its nodes.
ExitStatus show_flow(Shell& shell, const std::string& id);

}  // namespace orchid::cli
