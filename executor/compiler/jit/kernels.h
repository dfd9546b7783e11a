// jit/kernels.h: the data-parallel kernels of one image, as orchid/kernel.h writes them.
#pragma once
#include <llvm/IR/Module.h>

#include <string>
#include <vector>

#include "module/manifest.h"

namespace orchid::executor {

constexpr std::string_view kernel_prefix = "orchid_kernel_";
constexpr std::string_view kernel_layout_prefix = "orchid_kernel_layout_";
constexpr std::string_view kernel_info_prefix = "orchid_kernel_info_";

struct KernelList {
  std::vector<module::Kernel> kernels;  // sorted by name
  std::vector<std::string> problems;
};

/// An image for cores, or one for nvptx64, by its target triple. In one for cores those that are
/// only declared, since GPUs alone have them, are among the kernels, with `on_cores` false.
[[nodiscard]] KernelList read_kernels(llvm::Module& code);

/// Every difference between the lists of two images, which are named as given.
[[nodiscard]] std::vector<std::string> kernel_differences(const std::vector<module::Kernel>& one,
                                                          std::string_view one_name,
                                                          const std::vector<module::Kernel>& other,
                                                          std::string_view other_name);

/// The differences between what two images say of one kernel. A declaration and PTX (`on_cores`
/// false) need not tell the size of a group, and no image that of local memory.
[[nodiscard]] std::vector<std::string> layout_differences(const module::Kernel& one,
                                                          std::string_view one_name,
                                                          const module::Kernel& other,
                                                          std::string_view other_name);

}  // namespace orchid::executor
