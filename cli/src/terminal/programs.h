// terminal/programs.h: finds and runs other programs.
#pragma once
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/result.h"

namespace orchid::cli {

/// The folder of the running program: Orchid's other programs lie there too. Errors: `system`.
[[nodiscard]] Result<std::filesystem::path> own_program_directory();
/// In `first`, then in PATH; nothing when it is not there.
[[nodiscard]] std::optional<std::filesystem::path> find_program(
    std::string_view name, const std::filesystem::path& first = {});

/// Of a program in PATH; empty when it is not there.
[[nodiscard]] std::filesystem::path folder_of_program(std::string_view name);

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
