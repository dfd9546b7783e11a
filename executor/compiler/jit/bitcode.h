// jit/bitcode.h: from a module's bytes to checked LLVM IR for this host.
#pragma once
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "foundation/result.h"
#include "jit/host_target.h"
#include "module/container.h"

namespace orchid::executor {

constexpr std::string_view entry_prefix = "orchid_entry_";
constexpr std::string_view signature_prefix = "orchid_signature_";
constexpr std::string_view abi_version_name = "orchid_abi_version";

struct ReadModule {
  module::Container container;
  std::size_t image = 0;  // the one that was read: index in the container
  std::unique_ptr<llvm::Module> code;
};

/// Reads the container, picks the bitcode image of the first of `processors` that it has one for,
/// parses and verifies it. What does not hinder reading is left to `find_code_problems`.
/// Diagnostics are attached to `context`. Errors: `module_rejected`.
[[nodiscard]] Result<ReadModule> read_module(std::span<const std::byte> bytes,
                                             std::span<const HostTarget> processors,
                                             llvm::LLVMContext& context);

/// Parses and verifies one bitcode image, for whatever target. Errors: `module_rejected`.
[[nodiscard]] Result<std::unique_ptr<llvm::Module>> parse_image(const module::Image& image,
                                                                llvm::LLVMContext& context);

/// What keeps well-formed code from being compiled for `host`: its target, data layout, assembly
/// at file level, indirect functions.
[[nodiscard]] std::vector<std::string> find_code_problems(const llvm::Module& code,
                                                          const HostTarget& host);

/// The functions that are entries by their names, whatever their types.
[[nodiscard]] std::vector<llvm::Function*> entry_functions(llvm::Module& code);

/// The names of the effects that it declares (protocol/effects.h), sorted.
[[nodiscard]] std::vector<std::string> declared_effects(const llvm::Module& code);

}  // namespace orchid::executor
