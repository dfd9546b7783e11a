// toolchain/build_plan.h: which compilers a build runs, with which flags. Decisions only; nothing
// is run here.
#pragma once
#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/result.h"
#include "module/container.h"

namespace orchid::cli {

/// The compilers that were found on this machine.
struct Toolchain {
  std::optional<std::filesystem::path> clang;        // clang-19
  std::optional<std::filesystem::path> clangxx;      // clang++-19
  std::optional<std::filesystem::path> flang;        // flang-new-19
  std::optional<std::filesystem::path> link;         // llvm-link-19
  std::optional<std::filesystem::path> libdevice{};  // libdevice.10.bc of the CUDA toolkit
  std::optional<std::filesystem::path> nvcc{};
};

struct BuildRequest {
  std::vector<std::filesystem::path> sources;  // .c, .cpp and the like, .f90 and the like, .bc
  std::vector<std::string> targets;            // as the user wrote them; empty: this machine's
  std::vector<std::string> compiler_flags;     // what stood behind "--"
  std::filesystem::path headers;               // the folder that has orchid/function.h
  std::filesystem::path scratch;               // for what lies between source and module
};

struct BuildStep {
  std::vector<std::string> command;
  std::string source;  // what it compiles, for messages; empty: it links
  std::filesystem::path output{};
};

/// How one image of the module is made.
struct ImagePlan {
  std::string triple;
  std::string arch;  // as it stands in the container
  std::vector<BuildStep> steps;
  std::filesystem::path image;  // where it is after the last step
  module::ImageKind kind = module::ImageKind::bitcode;
};

/// Whether bitcode for cores has kernels (orchid/kernel.h): the symbols of their layouts stand in
/// its table of names as plain text.
[[nodiscard]] bool has_kernels(std::span<const std::byte> bitcode);

/// The image for GPUs of these sources, C and C++ that have kernels. Errors: as `plan_build`.
[[nodiscard]] Result<ImagePlan> plan_device_image(const BuildRequest& request,
                                                  const Toolchain& tools);

/// Whether that is a text that a build compiles, by its name.
[[nodiscard]] bool is_source_file(const std::filesystem::path& file);

/// Errors: `bad_request` (an unknown kind of file, an unknown target), `unsupported` (a compiler is
/// missing; the message names the package).
[[nodiscard]] Result<std::vector<ImagePlan>> plan_build(const BuildRequest& request,
                                                        const Toolchain& tools);

/// What to install when compiling for another architecture has failed; empty: nothing special.
[[nodiscard]] std::string cross_compiling_hint(std::string_view arch);

}  // namespace orchid::cli
