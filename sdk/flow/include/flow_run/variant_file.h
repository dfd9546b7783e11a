// flow_run/variant_file.h: what flows have learned of variants, in a file of their user. It is a
// cache: a flow that finds none, or a damaged one, begins with trials.
#pragma once
#include <filesystem>
#include <vector>

#include "flow/variants.h"
#include "foundation/result.h"

namespace orchid::flow {

/// None if the file is not there, or is damaged.
[[nodiscard]] std::vector<KeptVariants> read_variants(const std::filesystem::path& file);

/// Adds to the file, which is made with its folder where they are not there. Flows that end at once
/// do not undo each other. Errors: those of writing.
[[nodiscard]] Result<void> keep_variants(const std::filesystem::path& file,
                                         std::vector<KeptVariants> learned);

}  // namespace orchid::flow
