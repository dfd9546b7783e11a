// jit/other_images.h: the images of a module that this host does not run.
#pragma once
#include <string>
#include <vector>

#include "module/container.h"
#include "module/manifest.h"

namespace orchid::executor {

/// What is wrong with all bitcode images but `host_image`: each must be valid, with the kernels of
/// `manifest`; one for cores must have its entries too. What an image for another kind of host
/// needs of libraries is not looked at: they are not here.
[[nodiscard]] std::vector<std::string> find_problems_of_other_images(
    const module::Container& container, std::size_t host_image, const module::Manifest& manifest);

}  // namespace orchid::executor
