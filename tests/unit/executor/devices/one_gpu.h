// one_gpu.h: a GPU whose process does as its kernels say (tests/fakes/fake_device.py), and workers
// without a process; no wait without a deadline.
#pragma once
#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "device/lane_commands.h"
#include "devices/gpu.h"
#include "event_loop.h"
#include "foundation/files.h"
#include "scratch_folder.h"

namespace orchid::executor::test {

/// A worker without a process, as far as a GPU looks at it.
inline std::shared_ptr<WorkerProcess> make_worker() {
  static std::uint64_t last_id = 0;
  auto lane = transport::make_lane({.request_bytes = 1_MiB, .response_bytes = 1_MiB});
  auto device_lane = transport::make_lane(device_lane_geometry);
  auto worker = std::make_shared<WorkerProcess>(
      ++last_id, std::move(StatusPageMapping::create().value()), std::move(lane.value()), 1_MiB);
  worker->set_device_lane(std::move(device_lane.value()));
  return worker;
}

inline std::shared_ptr<DeviceUser> make_user(DeviceOwner owner) {
  return std::make_shared<DeviceUser>(
      DeviceUser{.worker = make_worker(), .owner = std::move(owner)});
}

/// What the process does when it gets them: see fake_device.py.
inline std::shared_ptr<const UniqueFd> make_kernels(std::string_view does) {
  return std::make_shared<const UniqueFd>(make_sealed_memory("orchid-ptx", as_bytes(does)).value());
}

/// Its call number 1 runs, and uses the GPU.
inline void use(WorkerProcess& worker) {
  worker.page().state.store(pack_state(1, RunState::running));
  worker.page().device_call.store(1);
}

struct OneGpu : EventLoop {
  explicit OneGpu(std::uint32_t index = 0)
      : gpu(io, children, options, {.name = std::to_string(index)}, {.index = index}, [] {}) {}
  ~OneGpu() {
    gpu.stop();
    run_until([this] { return children.watched() == 0; });
  }
  OneGpu(const OneGpu&) = delete;
  OneGpu& operator=(const OneGpu&) = delete;

  [[nodiscard]] bool usable() const { return gpu.offered().fault.empty(); }
  void start() {
    gpu.start();
    run_until([this] { return usable(); });
  }
  Result<std::uint64_t> serve(const std::shared_ptr<DeviceUser>& user) {
    std::optional<Result<std::uint64_t>> served;
    gpu.serve(user, [&](const Result<std::uint64_t>& seat) { served = seat; });
    run_until([&] { return served.has_value(); });
    return *served;
  }

  tests::Scratch folder;
  ChildWatch children{io};
  DeviceProcess::Options options{
      .program = FAKE_DEVICE,
      .environment = {"LD_LIBRARY_PATH=" + folder.path().string(), "PATH=/usr/bin:/bin"}};
  Gpu gpu;
};

inline constexpr LeaseId first_lease{1, 1};
inline constexpr LeaseId second_lease{1, 2};

}  // namespace orchid::executor::test
