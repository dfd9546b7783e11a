#include "foundation/pipe.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>

namespace orchid {

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail_errno("pipe2");
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

}  // namespace orchid
