#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "checks.h"
#include "ptx_folder.h"

namespace orchid::gpu_check {
namespace {

/// As long as the executor waits for it.
constexpr const char* start_target = "<= 30 s";

}  // namespace

Result<void> begin_checks(const Bundle& bundle, DeviceUnderCheck& device,
                          std::uint64_t slab_bytes) {
  const std::string& architecture = device.ready().architecture;
  const auto ptx = find_ptx_folder(bundle.folder / "ptx", architecture);
  if (!ptx) return fail(ErrorCode::unsupported, "the bundle has no PTX for " + architecture);
  if (auto begun = device.begin_lane(slab_bytes); !begun) return begun;
  if (const auto loaded = device.load(checks_module, *ptx / "checks.ptx"); !loaded)
    return fail(loaded.error());
  return {};
}

Result<std::unique_ptr<DeviceUnderCheck>> start_ready(const Bundle& bundle,
                                                      std::uint64_t slab_bytes) {
  auto device = DeviceUnderCheck::start(bundle);
  if (!device) return device;
  if (auto ready = begin_checks(bundle, **device, slab_bytes); !ready)
    return fail(std::move(ready.error()));
  return device;
}

std::unique_ptr<DeviceUnderCheck> check_start(const Bundle& bundle, Results& results) {
  constexpr const char* check = "a device process starts confined, and runs its first kernel";
  auto device = start_ready(bundle, small_slab);
  if (!device) {
    results.add(check, start_target, device.error());
    return nullptr;
  }
  const std::chrono::duration<double, std::milli> time = (*device)->start_time();
  results.add({.check = check,
               .figure = fmt::format("{:.0f} ms", time.count()),
               .target = start_target,
               .verdict = Verdict::met});
  return std::move(*device);
}

}  // namespace orchid::gpu_check
