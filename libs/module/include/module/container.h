// module/container.h: reads and writes the bytes of a module: plain bitcode, or OffloadBinary
// images, one for each target, as clang-offload-packager writes them. Our own bounds-checked code:
// LLVM's reader of the container crashes on damaged input.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/result.h"

namespace orchid::module {

/// `ptx`: the text that a GPU's driver compiles, as nvcc makes it (module/ptx.h).
enum class ImageKind { bitcode, object, ptx };
[[nodiscard]] std::string_view to_string(ImageKind kind);

/// One target's code. `bytes` points into what was read.
struct Image {
  std::string triple;  // empty: not stated (plain bitcode says it inside)
  std::string arch;    // as stated: "x86-64", "sm_90"; may be empty
  ImageKind kind = ImageKind::bitcode;
  std::span<const std::byte> bytes;
};

/// A value whose images borrow the bytes that it was read from.
struct Container {
  bool plain = false;  // bitcode without a container around it
  std::vector<Image> images;
};

/// Looks at heads, tables and the outermost blocks of bitcode, not into the code. Errors:
/// `module_rejected`; the message says what is wrong and at which byte.
[[nodiscard]] Result<Container> read_container(std::span<const std::byte> bytes);

/// The images one after the other, each an OffloadBinary of its own. Errors: `bad_request` (an
/// image without bytes or triple).
[[nodiscard]] Result<std::vector<std::byte>> write_container(std::span<const Image> images);

/// The architecture's one name here, "x86_64", "aarch64", "nvptx64", …: the triple's first part,
/// without aliases.
[[nodiscard]] std::string architecture_of(std::string_view triple);

}  // namespace orchid::module
