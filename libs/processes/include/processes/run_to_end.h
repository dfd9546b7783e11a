// processes/run_to_end.h: runs a program to its end, within a deadline, and keeps what it prints.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "foundation/result.h"
#include "foundation/units.h"
#include "processes/process_end.h"
#include "processes/program_start.h"

namespace orchid::processes {

enum class Output : std::uint8_t {
  ours,  // goes where ours goes
  kept,
  dropped,
};

struct RunOptions {
  std::chrono::milliseconds longest{60'000};
  std::string input = {};  // its standard input; if it is empty, the program's own setting holds
  Output output = Output::kept;
  Output errors = Output::kept;
  ByteCount most_output = 64_MiB;
  ByteCount most_errors = 64_MiB;
};

struct RunResult {
  std::optional<ProcessEnd> end;  // nothing: it was killed at the deadline
  std::string output;
  std::string errors;
};

/// What the program leaves running is not waited for, although it may hold the outputs open. Any
/// thread. Errors: `system`, `too_large`.
[[nodiscard]] Result<RunResult> run_to_end(ProgramStart program, const RunOptions& options);

}  // namespace orchid::processes
