// code/code_key.h: what identifies compiled code.
#pragma once
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
[[nodiscard]] CodeKey make_code_key(const std::string& module_digest, const CompilerReady& compiler,
                                    CompileTier tier);

}  // namespace orchid::executor
