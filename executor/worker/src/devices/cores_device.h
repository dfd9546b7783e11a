// devices/cores_device.h: kernels on the worker's own cores.
#pragma once
#include <atomic>

#include "devices/core_team.h"
#include "devices/device.h"
#include "foundation/tick_clock.h"
#include "function_abi/core_memory.h"
#include "user_code/machine_state.h"

namespace orchid::executor {

class KernelRun;

/// A launch has ended when it returns. Owned by the worker's thread.
class CoresDevice final : public Device {
 public:
  /// Kernels compute with the floating-point state of this moment, on whatever thread: what the
  /// entry has made of its own would give other bits there than on a member of the team.
  explicit CoresDevice(const TickRate& rate) : team_(rate) {}

  [[nodiscard]] std::int32_t kind() const override { return ORCHID_DEVICE_CORES; }
  [[nodiscard]] void* alloc(orchid_call& call, std::size_t size) override;
  [[nodiscard]] bool free(orchid_call& call, void* memory) override;
  [[nodiscard]] Result<DeviceEnd> write(orchid_call& call, void* device,
                                        std::span<const std::byte> host) override;
  [[nodiscard]] Result<DeviceEnd> read(orchid_call& call, std::span<std::byte> host,
                                       const void* device) override;
  [[nodiscard]] Result<DeviceEnd> launch(orchid_call& call, const KernelLaunch& launch) override;
  [[nodiscard]] Result<DeviceEnd> wait(orchid_call& call) override;
  [[nodiscard]] std::string_view end_call() override;
  [[nodiscard]] int thread_count() const override { return static_cast<int>(team_.size()); }

 private:
  void run_all(KernelRun& run, unsigned cores);

  function_abi::CoreMemory memory_;
  CoreTeam team_;
  FloatingPoint floating_point_;
  std::atomic<bool> launching_{false};  // kernels may try to launch some, too
  bool team_ran_ = false;               // in this call
};

}  // namespace orchid::executor
