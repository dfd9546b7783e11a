#include "terminal/programs.h"

#include "processes/run_to_end.h"

namespace orchid::cli {

Result<ProgramResult> run_program(const ProgramRun& run) {
  using processes::Output;
  const Output errors = run.capture_errors ? Output::kept : Output::ours;
  auto result = processes::run_to_end({.program = run.command.at(0),
                                       .arguments = {run.command.begin() + 1, run.command.end()},
                                       .inherits_input = true},
                                      {.longest = run.longest,
                                       .output = run.capture_output ? Output::kept : Output::ours,
                                       .errors = run.discard_errors ? Output::dropped : errors});
  if (!result) return fail(std::move(result.error()));
  if (!result->end)
    return fail(ErrorCode::timed_out, run.command.front() + " did not end within " +
                                          std::to_string(run.longest.count()) + " s");
  return ProgramResult{.status = result->end->shell_status(),
                       .output = std::move(result->output),
                       .errors = std::move(result->errors)};
}

}  // namespace orchid::cli
