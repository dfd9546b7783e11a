#include "flows/learned_variants.h"

#include <utility>

#include "flow_run/variant_file.h"
#include "supervisor/directories.h"

namespace orchid::cli {

std::filesystem::path variants_file() {
  const auto folder = state_directory(real_user_surroundings());
  return folder ? *folder / "flow-variants.json" : std::filesystem::path();
}

void keep_learned(Shell& shell, const flow::Tuner& tuner, const std::filesystem::path& file) {
  auto learned = tuner.learned();
  if (learned.empty() || file.empty()) return;
  if (const auto kept = flow::keep_variants(file, std::move(learned)); !kept && !shell.json)
    shell.note("what was learned of variants could not be kept: " + kept.error().message);
}

}  // namespace orchid::cli
