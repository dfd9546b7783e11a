// foundation/duplicate.h: one more descriptor of what is open already.
#pragma once
#include "foundation/result.h"
#include "foundation/unique_fd.h"

namespace orchid {

/// Closed on exec, with the first free number from `least` on. Errors: `system` (`fd` is not open,
/// or the process has no descriptor left), and errno is as the kernel has set it.
[[nodiscard]] Result<UniqueFd> duplicate(int fd, int least = 0);

}  // namespace orchid
