// jit/host_target.h: this machine as LLVM sees it.
#pragma once
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Triple.h>

#include <memory>
#include <string>
#include <vector>

#include "foundation/result.h"
#include "protocol/compiler_messages.h"

namespace orchid::executor {

struct HostTarget {
  llvm::Triple triple;
  std::string architecture;  // as module::architecture_of names it
  std::string cpu;
  std::string features;  // sorted, "+a,-b"
  std::string data_layout;
  /// Errors: `unsupported`, when this LLVM has no back end for the host.
  [[nodiscard]] static Result<HostTarget> detect();
  /// The processors that executors exist for, this host's among them: what is the same for all
  /// machines of an architecture, and no CPU. Errors: `unsupported`.
  [[nodiscard]] static Result<std::vector<HostTarget>> all_processors();
};

/// Position-independent, small code model, emulated thread-local storage: what JITLink links
/// anywhere. Errors: `unsupported`.
[[nodiscard]] Result<std::unique_ptr<llvm::TargetMachine>> make_target_machine(
    const HostTarget& host, CompileTier tier);

}  // namespace orchid::executor
