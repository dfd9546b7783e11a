// functions/module_inspector.h: who reads an uploaded module. It is never the gateway itself:
// modules may be hostile.
#pragma once
#include <sys/types.h>

#include <functional>
#include <memory>

#include "foundation/result.h"
#include "foundation/unique_fd.h"
#include "module/manifest.h"

namespace orchid::gateway {

/// Belongs to the control thread.
class ModuleInspector {
 public:
  virtual ~ModuleInspector() = default;
  /// Called once, on the control thread, perhaps before `inspect` returns.
  using Done = std::function<void(Result<module::Manifest>)>;
  /// `module`: a sealed memory file, shared because the caller keeps it for the workers. Errors:
  /// `module_rejected` with all that is wrong, `no_capacity` when too many of that tenant wait,
  /// `unreachable` when the compiler does not work.
  virtual void inspect(uid_t tenant, std::shared_ptr<const UniqueFd> module, Done done) = 0;
  [[nodiscard]] virtual bool is_up() const = 0;
};

}  // namespace orchid::gateway
