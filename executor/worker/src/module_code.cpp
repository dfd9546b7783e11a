#include "module_code.h"

#include <algorithm>
#include <string_view>

#include "foundation/files.h"
#include "protocol/effects.h"
#include "runtime_symbols/runtime_symbols.h"
#include "user_code/escaped_exception.h"
#include "user_code/runtime_overrides.h"

namespace orchid::executor {
namespace {

void* resolve(std::string_view name) {
  if (void* override = find_override(name); override != nullptr) return override;
  return find_runtime_symbol(std::string(name));
}

}  // namespace

Result<std::unique_ptr<LinkedModule>> link_code(int code) {
  const auto mapped = MappedFile::map(code, {.limit = 1_GiB});
  if (!mapped) return fail(mapped.error());
  return link(mapped->bytes(), "orchid_entry_", resolve);
}

bool has_effects(const LinkedModule& module) {
  return module.exports(effect_prefix) ||
         std::ranges::any_of(effect_calls,
                             [&](std::string_view call) { return module.needs(call); });
}

/// The description is made while the code is there: the exception may be of a type of its own.
std::string initialise(LinkedModule& module, const Hygiene& hygiene) {
  try {
    module.initialise();
    hygiene.restore_registers();
    return {};
  } catch (...) {
    hygiene.restore_registers();
    std::string why = describe_current_exception();
    hygiene.restore_registers();  // what() may be the module's own
    return why;
  }
}

}  // namespace orchid::executor
