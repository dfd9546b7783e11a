// toolchain/inspection.h: what orchid-compiler says about a module.
#pragma once
#include <filesystem>
#include <string>

#include "foundation/result.h"
#include "module/manifest.h"

namespace orchid::cli {

struct Inspection {
  module::Manifest manifest;
  std::string json;
};
/// Errors: `module_rejected` (the message lists everything that is wrong), `not_found`, `system`.
[[nodiscard]] Result<Inspection> inspect_module(const std::filesystem::path& module);
/// The kernels as PTX for a GPU such as "sm_80". Errors: as `inspect_module`.
[[nodiscard]] Result<std::string> make_ptx(const std::filesystem::path& module,
                                           const std::string& gpu);
/// For people: entries with their signatures, targets, and what the host must provide.
[[nodiscard]] std::string describe(const module::Manifest& manifest);

}  // namespace orchid::cli
