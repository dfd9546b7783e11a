// check_report.h: what is told of a document that somebody is still writing. Pure functions.
#pragma once
#include <string>

#include "flow_submission.h"

namespace orchid::flows {

/// JSON: each fault with its place, and the ports of each node, as far as they are known.
[[nodiscard]] std::string check_report(const Submission& submission, const FindFunction& find);

}  // namespace orchid::flows
