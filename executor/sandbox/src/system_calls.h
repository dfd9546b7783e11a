// sandbox/system_calls.h: which system calls a confined process keeps (seccomp).
#pragma once
#include "foundation/result.h"
#include "sandbox/confinement.h"

namespace orchid::executor {

enum class FilterStage { birth, user_code };

/// Installs the filter for all threads. Needs no_new_privs. A call outside of the list fails with
/// EPERM. `may_open_files`: also in the second stage, as far as Landlock lets it. Errors: `system`,
/// `unsupported`.
[[nodiscard]] Result<void> install_filter(SandboxRole role, FilterStage stage, bool may_open_files);

}  // namespace orchid::executor
