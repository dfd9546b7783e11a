// flows/checked_file.h: a flow's file that has been checked, for commands that run nothing.
#pragma once
#include <optional>
#include <string>

#include "flow/document.h"
#include "flow/plan.h"
#include "flow_run/deployed_functions.h"
#include "orchid/client.h"
#include "terminal/shell.h"

namespace orchid::cli {

struct CheckedFile {
  flow::Document document;
  flow::Plan plan;
  std::optional<Client> client;  // that was asked about the functions
  flow::FunctionNeeds needs;     // what it said of them
};

/// Unless `offline` an Orchid is asked, if there is one. Nothing: the faults have been reported.
/// Throws `orchid::Error`.
[[nodiscard]] std::optional<CheckedFile> checked_file(Shell& shell, const std::string& file,
                                                      bool offline);

}  // namespace orchid::cli
