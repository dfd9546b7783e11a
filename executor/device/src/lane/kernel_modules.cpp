#include "lane/kernel_modules.h"

#include <fmt/format.h>

#include <algorithm>

#include "protocol/lane_messages.h"
#include "protocol/limits.h"

namespace orchid::executor {

KernelModules::~KernelModules() {
  for (const auto& [number, module] : modules_) driver_.unload(module.handle);
}

DriverResult<void> KernelModules::load(Number number, const std::string& ptx) {
  unload(number.module);
  if (modules_.size() >= modules_per_worker)
    return driver_failed(DriverError::refused, "more modules than a worker has");
  auto handle = driver_.load(ptx);
  if (!handle) return std::unexpected(std::move(handle.error()));
  modules_.emplace(number.module, Module{number.generation, *handle, {}});
  return {};
}

void KernelModules::unload(std::uint32_t module) {
  const auto known = modules_.find(module);
  if (known == modules_.end()) return;
  driver_.unload(known->second.handle);
  modules_.erase(known);
}

DriverResult<LoadedKernel*> KernelModules::find(Number number, const std::string& name,
                                                std::uint32_t group_size) {
  const auto module = modules_.find(number.module);
  if (module == modules_.end() || module->second.generation != number.generation)
    return driver_failed(DriverError::refused,
                         "the kernel '" + name +
                             "' is not on this device: its module has no image for GPUs, or the "
                             "driver did not take it");
  auto& kernels = module->second.kernels;
  const auto key = std::pair(name, group_size);
  if (const auto known = kernels.find(key); known != kernels.end()) return &known->second;
  // Group sizes are a worker's word, and each would be kept.
  if (kernels.size() >= 2 * limits::kernels_per_module)
    return driver_failed(DriverError::refused, "the kernel is launched with too many group sizes");
  auto function = driver_.find(module->second.handle, "orchid_kernel_" + name);
  if (!function) return std::unexpected(std::move(function.error()));
  if (group_size > function->most_threads)
    return driver_failed(
        DriverError::refused,
        fmt::format("the kernel '{}' has groups of {} items; on this device it can have {} at most",
                    name, group_size, function->most_threads));
  const std::uint32_t threads = group_size != 0 ? group_size : function->suggested_threads;
  const std::uint64_t wave = std::uint64_t{threads} * function->suggested_blocks;
  const auto made = kernels.emplace(
      key,
      LoadedKernel{.function = *function, .size = SubRangeSize(wave, threads), .threads = threads});
  return &made.first->second;
}

}  // namespace orchid::executor
