// lane/kernel_modules.h: the kernels of the modules that a lane's worker has, as the driver has
// loaded them.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "driver/driver.h"
#include "foundation/result.h"
#include "lane/sub_range_size.h"

namespace orchid::executor {

struct LoadedKernel {
  DriverFunction function;
  SubRangeSize size;
  std::uint32_t threads = 1;  // of a block
};

/// Owned by the device process's thread. Kernels stay where they are until their module is dropped.
class KernelModules {
 public:
  explicit KernelModules(Driver& driver) : driver_(driver) {}
  ~KernelModules();
  KernelModules(const KernelModules&) = delete;
  KernelModules& operator=(const KernelModules&) = delete;

  struct Number {
    std::uint32_t module = 0;
    std::uint32_t generation = 0;
  };
  /// Replaces what was there. Not while launches of that module run.
  [[nodiscard]] DriverResult<void> load(Number number, const std::string& ptx);
  /// `group_size`: threads of a block, 0: as the driver suggests. Errors: `refused`: there is no
  /// such module or kernel, or it cannot have such groups.
  [[nodiscard]] DriverResult<LoadedKernel*> find(Number number, const std::string& name,
                                                 std::uint32_t group_size);

 private:
  struct Module {
    std::uint32_t generation = 0;
    ModuleHandle handle{};
    std::map<std::pair<std::string, std::uint32_t>, LoadedKernel> kernels;  // and group size
  };
  void unload(std::uint32_t module);

  Driver& driver_;
  std::map<std::uint32_t, Module> modules_;
};

}  // namespace orchid::executor
