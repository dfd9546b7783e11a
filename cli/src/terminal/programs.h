// terminal/programs.h: finds and runs other programs.
#pragma once
#include <chrono>
#include <string>
#include <vector>

#include "foundation/result.h"
#include "processes/program_path.h"

namespace orchid::cli {

using processes::find_program;
using processes::folder_of_program;
using processes::own_program_directory;

struct ProgramResult {
  int status = 0;      // exit status; 128 + number after a signal
  std::string output;  // standard output, when it was captured
  std::string errors;  // standard error, when it was captured
};
struct ProgramRun {
  std::vector<std::string> command;  // the program's path first
  bool capture_output = false;       // otherwise it goes where ours goes
  bool capture_errors = false;
  bool discard_errors = false;
  std::chrono::seconds longest{3600};
};
/// Errors: `system`, `timed_out` (it has been killed).
[[nodiscard]] Result<ProgramResult> run_program(const ProgramRun& run);

}  // namespace orchid::cli
