#include "module_code.h"

#include <string_view>

#include "foundation/files.h"
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
