// module/manifest.h: what a module offers and needs, as orchid-compiler derived it
// (docs/PROTOCOL.md §6).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/result.h"
#include "foundation/units.h"

namespace orchid::module {

struct Entry {
  std::string name;
  std::optional<std::string> signature;  // of a typed entry
};

struct Target {
  std::string triple;
  std::string arch;  // "x86_64", "aarch64", "nvptx64"
  std::string kind;  // "bitcode", "ptx" or "object"
  ByteCount size;
};

/// A data-parallel kernel (orchid/kernel.h); its layout is the same in all images that have it.
struct Kernel {
  std::string name;
  std::uint32_t args_size = 0;
  std::uint32_t args_alignment = 0;
  std::uint32_t group_size = 0;   // 0: no groups
  std::uint32_t local_bytes = 0;  // 0: not known
  bool on_cores = true;           // false: it has no image for cores, only one for GPUs
  friend bool operator==(const Kernel&, const Kernel&) = default;
};

/// Of a target that runs kernels, and no entries.
[[nodiscard]] inline bool is_gpu_architecture(std::string_view architecture) {
  return architecture == "nvptx64";
}

/// A value. Entries and kernels are sorted by name, and an entry's index is its place here.
struct Manifest {
  std::uint32_t abi = 1;
  std::string digest;
  ByteCount size;
  std::vector<Entry> entries;
  std::vector<Target> targets;
  std::vector<Kernel> kernels{};       // none in the manifests of older versions
  std::vector<std::string> undefined;  // symbols that the host must provide
  /// Sorted: what it says to do outside of its calls, and the host calls that do so
  /// (protocol/effects.h). Empty: its calls may be repeated.
  std::vector<std::string> effects;

  [[nodiscard]] std::optional<std::uint16_t> entry_index(std::string_view name) const;
};

[[nodiscard]] std::string to_json(const Manifest& manifest);
/// Errors: `bad_request`.
[[nodiscard]] Result<Manifest> parse_manifest(std::string_view json);

}  // namespace orchid::module
