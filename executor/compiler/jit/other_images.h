// jit/other_images.h: the images of a module that its manifest was not read from.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "jit/host_target.h"
#include "module/container.h"
#include "module/manifest.h"

namespace orchid::executor {

/// What is wrong with all images but the one that was `read`. Bitcode must be valid. An image for
/// cores must have the entries and kernels of `manifest`, and, if it is for one of `processors`,
/// need no more than the libraries there have. Each kernel must be the same in all images, and what
/// cores only declare must be in one for GPUs.
[[nodiscard]] std::vector<std::string> find_problems_of_other_images(
    const module::Container& container, std::size_t read, std::span<const HostTarget> processors,
    const module::Manifest& manifest);

}  // namespace orchid::executor
