// flows/flow_libraries.h: optimisers of users, for a flow that runs here.
#pragma once
#include <string>

#include "flow_run/flow_tuning.h"

namespace orchid::cli {

/// Paths that are not absolute begin where the flow's file lies.
[[nodiscard]] flow::OpenLibrary opener_of_libraries(const std::string& flow_file);

}  // namespace orchid::cli
