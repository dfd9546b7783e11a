// foundation/pipe.h: a pipe whose ends have an owner.
#pragma once
#include "foundation/result.h"
#include "foundation/unique_fd.h"

namespace orchid {

struct Pipe {
  UniqueFd reader;
  UniqueFd writer;
};
/// Both ends are closed on exec. Errors: `system`.
[[nodiscard]] Result<Pipe> make_pipe();

}  // namespace orchid
