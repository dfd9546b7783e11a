// flows/learned_variants.h: where flows in the foreground keep what they learn of variants.
#pragma once
#include <filesystem>

#include "flow/tuner.h"
#include "terminal/shell.h"

namespace orchid::cli {

/// Empty: the user has no folder for such things.
[[nodiscard]] std::filesystem::path variants_file();

/// The next flow with these functions begins with the fastest of them. What cannot be kept is told.
void keep_learned(Shell& shell, const flow::Tuner& tuner, const std::filesystem::path& file);

}  // namespace orchid::cli
