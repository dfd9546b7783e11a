// jit/code_generator.h: turns the bitcode of a module into code for exactly this host.
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
#include "protocol/compiler_messages.h"

namespace orchid::executor {

/// What an LLVM failure that cannot be survived is told to, at most once; the process ends when it
/// returns. Must not allocate when `out_of_memory`, and must not throw.
using FatalErrorReport = void (*)(void* context, const char* reason, bool out_of_memory);

/// LLVM calls `report` for its fatal errors and when memory ends. Once in a process, before
/// anything else of LLVM is used.
void report_fatal_errors_to(FatalErrorReport report, void* context);

/// Owned by one thread. Holds target descriptions; each module is compiled in a context of its own,
/// and nothing of it stays.
class CodeGenerator {
 public:
  virtual ~CodeGenerator() = default;
  /// Errors: `unsupported`, when this LLVM has no back end for the host.
  [[nodiscard]] static Result<std::unique_ptr<CodeGenerator>> create();

  /// Who made code decides what it is: all of it belongs to the key of a cache.
  [[nodiscard]] virtual CompilerReady description() const = 0;
  /// Compiles a small module with each tier, so that a confined process has everything loaded.
  virtual void warm_up() = 0;
  struct Code {
    std::vector<std::byte> bytes;  // relocatable ELF with the entries exported
    CompileTier tier = CompileTier::o3;
  };
  /// Quick code is made only of modules that keep nothing between calls, so that it can be
  /// replaced; the others get `o3` at once. Errors: `module_rejected`, with what is wrong.
  /// `read` is called once the module has been read.
  struct Figures {
    std::uint64_t functions = 0;      // with a body
    std::uint64_t branches = 0;       // instructions with more than one successor
    std::uint64_t most_branches = 0;  // in one function
  };
  using Read = std::function<void(const Figures&)>;
  struct Wanted {
    CompileTier tier = CompileTier::o3;
    std::string_view constants;  // as in CompileRequest
  };
  [[nodiscard]] virtual Result<Code> compile(std::span<const std::byte> module,
                                             const Wanted& wanted, const Read& read) = 0;
};

}  // namespace orchid::executor
