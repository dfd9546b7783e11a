// jit/linker.h: links compiled code into this process (LLVM JITLink) and tells where its
// entries are.
//
// JITLink is used without ORC's sessions and layers: a worker links the code of one module at a
// time, and never compiles, so the process needs neither code generation nor symbol tables that
// outlive the link.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/result.h"

namespace orchid::executor {

/// Code and data of one module, ready to run. Never writable and executable at once. Owned by the
/// worker's thread; nobody may be executing it when it is destroyed.
class LinkedModule {
 public:
  virtual ~LinkedModule() = default;
  struct Entry {
    std::string name;  // without the prefix
    void* address;
  };
  /// The exported functions whose names begin with the prefix, sorted by name.
  [[nodiscard]] virtual std::span<const Entry> entries() const = 0;
  /// Whether it exports a symbol that begins so.
  [[nodiscard]] virtual bool exports(std::string_view prefix) const = 0;
  /// Whether it uses that symbol of the host.
  [[nodiscard]] virtual bool needs(std::string_view name) const = 0;
  /// Runs what has to run once before the first call: static initialisers.
  virtual void initialise() = 0;
  [[nodiscard]] virtual bool has_initialisers() const = 0;  // that have not run
  /// The function around `address`, or null; safe in a signal handler. Writes the distance from its
  /// start.
  [[nodiscard]] virtual const char* function_at(std::uintptr_t address,
                                                std::uintptr_t& distance) const = 0;
};

/// Where a symbol of the host is; null: not available to functions.
using SymbolResolver = std::function<void*(std::string_view name)>;

/// Takes what JITLink loads at its first use, so that a forked child finds it there.
void prepare_linker();

/// Errors: `module_rejected`, with every symbol that is missing.
[[nodiscard]] Result<std::unique_ptr<LinkedModule>> link(std::span<const std::byte> code,
                                                         std::string_view entry_prefix,
                                                         const SymbolResolver& resolve);

}  // namespace orchid::executor
