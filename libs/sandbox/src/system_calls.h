// sandbox/system_calls.h: which system calls a confined process keeps (seccomp).
#pragma once
#include "foundation/result.h"
#include "sandbox/confinement.h"

namespace orchid {

/// Whether processes of this role have a UCX lane, which they make between the two stages.
[[nodiscard]] constexpr bool speaks_ucx(SandboxRole role) {
  return role == SandboxRole::remote_worker || role == SandboxRole::door ||
         role == SandboxRole::dispatch;
}

enum class FilterStage { birth, user_code };

/// Installs the filter for all threads. Needs no_new_privs. A call outside of the list fails with
/// EPERM. With `readable_paths` files may be opened in the second stage too, as far as Landlock
/// lets it, but not by a device process: its driver's threads are not reached by a second Landlock.
/// Errors: `system`, `unsupported`.
[[nodiscard]] Result<void> install_filter(const ConfinementOptions& options, FilterStage stage);

}  // namespace orchid
