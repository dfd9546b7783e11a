// commands/command_line.h: from arguments to the command that they name.
#pragma once
#include <string>
#include <vector>

#include "terminal/shell.h"

namespace orchid::cli {

/// Runs one command; `arguments` without the program's name. Never throws; every failure has been
/// reported.
[[nodiscard]] ExitStatus run_command_line(const std::vector<std::string>& arguments, Shell& shell);

}  // namespace orchid::cli
