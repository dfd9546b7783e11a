// processes/program_path.h: where programs are.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "foundation/result.h"

namespace orchid::processes {

/// The folder of the running program: Orchid's other programs lie there too. Errors: `system`.
[[nodiscard]] Result<std::filesystem::path> own_program_directory();
/// In `first`, then in PATH; nothing when it is not there.
[[nodiscard]] std::optional<std::filesystem::path> find_program(
    std::string_view name, const std::filesystem::path& first = {});
/// Where a shell would find what is called so: a path as it is, a name in PATH, or as it is if it
/// is not there.
[[nodiscard]] std::filesystem::path path_of_program(const std::string& word);
/// Of a program in PATH; empty when it is not there.
[[nodiscard]] std::filesystem::path folder_of_program(std::string_view name);

}  // namespace orchid::processes
