// peer_process.h: which process has connected, held so that its number cannot come to mean another.
#pragma once
#include <sys/types.h>

#include "foundation/result.h"
#include "foundation/unique_fd.h"

namespace orchid::site {

struct PeerProcess {
  pid_t pid = 0;
  uid_t uid = 0;        // when it connected
  UniqueFd descriptor;  // a pidfd: readable once it has ended
  [[nodiscard]] bool has_ended() const;
};

/// Kernels before 6.5 do not say it in one step: there the number may be another process's by now.
/// That one has to be of the same user, in a step that it may speak for, or it proves nothing.
/// Errors: `system`; `not_found`: it has ended.
[[nodiscard]] Result<PeerProcess> peer_process(int socket);

}  // namespace orchid::site
