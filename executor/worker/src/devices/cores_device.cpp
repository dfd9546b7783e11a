#include "devices/cores_device.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "devices/kernel_run.h"
#include "function_abi/launch_check.h"
#include "orchid/function.h"
#include "user_code/call_context.h"
#include "user_code/runtime_overrides.h"

namespace orchid::executor {
namespace {

std::unexpected<Failure> not_device_memory(std::string_view function, std::size_t size) {
  return fail(ErrorCode::bad_request, function_abi::not_device_memory(function, size));
}

}  // namespace

void* CoresDevice::alloc(orchid_call&, std::size_t size) { return memory_.alloc(size); }
bool CoresDevice::free(orchid_call&, void* memory) { return memory_.free(memory); }

Result<DeviceEnd> CoresDevice::write(orchid_call& call, void* device,
                                     std::span<const std::byte> host) {
  if (!memory_.holds(device, host.size()))
    return not_device_memory("orchid_device_write", host.size());
  if (orchid_should_stop(&call) != 0) return DeviceEnd::stopped;
  std::memcpy(device, host.data(), host.size());
  return DeviceEnd::done;
}

Result<DeviceEnd> CoresDevice::read(orchid_call& call, std::span<std::byte> host,
                                    const void* device) {
  if (!memory_.holds(device, host.size()))
    return not_device_memory("orchid_device_read", host.size());
  if (orchid_should_stop(&call) != 0) return DeviceEnd::stopped;
  std::memcpy(host.data(), device, host.size());
  return DeviceEnd::done;
}

Result<DeviceEnd> CoresDevice::launch(orchid_call& call, const KernelLaunch& launch) {
  if (launch.kernel.run == nullptr)
    return fail(ErrorCode::unsupported, function_abi::no_image_for_cores(launch.kernel));
  if (launching_.exchange(true, std::memory_order_relaxed))
    return fail(ErrorCode::bad_request,
                "orchid_launch is for the entry's thread: a kernel cannot launch another");
  const auto cores = static_cast<unsigned>(std::max(call.core_count, 1));
  const FloatingPoint of_entry;
  floating_point_.restore();
  KernelRun run(call, launch, cores);
  run_all(run, cores);
  of_entry.restore();
  launching_.store(false, std::memory_order_relaxed);
  return run.end();
}

void CoresDevice::run_all(KernelRun& run, unsigned cores) {
  if (cores == 1) return run.take_part();
  if (!run.deserves_team()) return;
  team_.resize(cores - 1);
  team_ran_ = true;
  team_.open(run);
  run.take_part();
  team_.close();
}

Result<DeviceEnd> CoresDevice::wait(orchid_call& call) {
  return orchid_should_stop(&call) != 0 ? DeviceEnd::stopped : DeviceEnd::done;
}

std::string_view CoresDevice::end_call() {
  memory_.free_all();
  // A kernel that jumped out of its launch may have left others in it.
  if (launching_.load(std::memory_order_relaxed)) return "the function left a launch unfinished";
  const OverrideTargets& targets = override_targets();
  if (std::exchange(team_ran_, false) && (targets.signals_changed || targets.library_changed))
    team_.disband();
  return {};
}

}  // namespace orchid::executor
