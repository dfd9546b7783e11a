// src/confined.h: the sandbox as both kinds of compiler processes enter it.
#pragma once
#include <algorithm>

#include "foundation/result.h"
#include "foundation/units.h"
#include "sandbox/confinement.h"

namespace orchid::executor {

constexpr ByteCount compile_memory = 2_GiB;
constexpr ByteCount inspect_memory = 1_GiB;

/// Gives up everything but standard error and `socket`. The process must end when this fails.
/// Errors: those of `confine`.
[[nodiscard]] inline Result<void> enter_compiler_sandbox(int socket, int parent_pid,
                                                         ByteCount memory) {
  constexpr int standard_error = 2;
  ConfinementOptions options{.role = SandboxRole::compiler,
                             .data_limit = memory,
                             .parent_pid = parent_pid,
                             .keep_descriptors = {standard_error, socket},
                             .readable_paths = {}};
  std::ranges::sort(options.keep_descriptors);
  if (auto confined = confine(options); !confined) return confined;
  return confine_further(options);
}

}  // namespace orchid::executor
