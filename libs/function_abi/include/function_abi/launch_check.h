// function_abi/launch_check.h: what is asked of a launch before a device sees it. By the worker,
// and by a program for its native twins. Not installed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "orchid/kernel.h"

namespace orchid::function_abi {

/// Why this launch cannot be, for people; empty: it can. Any thread.
[[nodiscard]] inline std::string find_launch_fault(const orchid_kernel* kernel, const void* args,
                                                   std::size_t args_size, std::uint64_t items) {
  if (kernel == nullptr || kernel->name == nullptr)
    return "orchid_launch was given no kernel: give it the address of what ORCHID_KERNEL defines";
  const auto about = [kernel](const std::string& fault) {
    return "kernel '" + std::string(kernel->name) + "' " + fault;
  };
  if (kernel->args_size != args_size || args_size > ORCHID_MAXIMUM_ARGS)
    return about("takes " + std::to_string(kernel->args_size) +
                 " bytes of arguments, and orchid_launch was given " + std::to_string(args_size) +
                 ": give it this kernel's arguments and their size");
  if (args == nullptr && args_size != 0) return about("was launched without its arguments");
  if (items > ORCHID_MAXIMUM_ITEMS)
    return about("cannot be launched over " + std::to_string(items) + " items: at most " +
                 std::to_string(ORCHID_MAXIMUM_ITEMS) + " (2^48) are one launch");
  return {};
}

/// For a launch on cores of a kernel that has only an image for GPUs.
[[nodiscard]] inline std::string no_image_for_cores(const orchid_kernel& kernel) {
  return "kernel '" + std::string(kernel.name) +
         "' has no image for cores: call this function where there is a GPU";
}

}  // namespace orchid::function_abi
