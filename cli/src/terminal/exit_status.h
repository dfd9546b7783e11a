// terminal/exit_status.h: what the exit status of `orchid` says.
#pragma once
#include <string_view>

#include "foundation/error_code.h"
#include "orchid/error.h"

namespace orchid::cli {

enum class ExitStatus : int {
  ok = 0,
  function_failed = 1,  // the function, or the code that was to become one
  usage = 2,            // the command, its arguments or its input
  orchid_failed = 3,    // the platform, or the way to it
  deadline = 4,
  evicted = 5,
  denied = 6,
};

[[nodiscard]] ExitStatus exit_status_of(ErrorKind kind);
[[nodiscard]] ExitStatus exit_status_of(ErrorCode code);
/// Of an invocation's outcome as the API names it.
[[nodiscard]] ExitStatus exit_status_of_outcome(std::string_view outcome);

}  // namespace orchid::cli
