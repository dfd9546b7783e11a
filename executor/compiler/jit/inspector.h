// jit/inspector.h: derives a module's manifest from its code, and finds everything that keeps it
// from running here.
#pragma once
#include <cstddef>
#include <memory>
#include <span>

#include "foundation/result.h"
#include "module/manifest.h"

namespace orchid::executor {

/// Immutable after its creation, which loads what LLVM needs: create it before the process is
/// confined.
class ModuleInspector {
 public:
  virtual ~ModuleInspector() = default;
  /// Errors: `unsupported`, when this LLVM has no back end for the host.
  [[nodiscard]] static Result<std::unique_ptr<ModuleInspector>> create();

  /// Errors: `module_rejected`; the message names every fault that was found, separated by "; ".
  [[nodiscard]] virtual Result<module::Manifest> inspect(
      std::span<const std::byte> bytes) const = 0;
};

}  // namespace orchid::executor
