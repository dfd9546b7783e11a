// code/code_key.h: what identifies compiled code.
#pragma once
#include <compare>
#include <cstdint>
#include <string>

#include "protocol/compiler_messages.h"

namespace orchid::executor {

/// Everything that the code depends on, as a canonical text; the name is a hash of it. A cache
/// stores the text beside the code and compares it on load, so that a collision or a damaged name
/// cannot run the wrong code.
struct CodeKey {
  std::string text;
  [[nodiscard]] std::string name() const;  // 64 hexadecimal digits
};
/// A module of one tenant: compiled by his compilers, and run in his workers alone, since a module
/// can take over the compiler that reads it.
struct TenantModule {
  std::uint32_t tenant = 0;  // uid
  std::string digest;
  std::string gpu = {};  // such as "sm_80": the PTX of its kernels; empty: code for this host
  friend auto operator<=>(const TenantModule&, const TenantModule&) = default;
};
[[nodiscard]] CodeKey make_code_key(const TenantModule& module, const CompilerReady& compiler,
                                    CompileTier tier);

}  // namespace orchid::executor
