// devices/gpu_device.h: kernels on a GPU, through the device process that serves this worker
// (device/lane_commands.h). The driver is there; here is only a lane.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "device/lane_commands.h"
#include "devices/device.h"
#include "transport/local_lane.h"
#include "worker/status_page.h"

namespace orchid::executor {

/// Owned by the worker's thread. The agent gives the worker its seat at a device process when a
/// call asks for one (StatusPage::device_seat), and ends the worker when that process is lost.
class GpuDevice final : public Device {
 public:
  struct Parts {
    transport::LocalLaneClient lane;
    StatusPage& page;
    /// The slabs of the calls' lane, which the device process can reach, too; empty: it cannot.
    std::span<const std::byte> call_input;
    std::span<const std::byte> call_output;
  };
  explicit GpuDevice(Parts parts) : parts_(std::move(parts)) {}

  [[nodiscard]] std::int32_t kind() const override { return ORCHID_DEVICE_GPU; }
  [[nodiscard]] void* alloc(orchid_call& call, std::size_t size) override;
  [[nodiscard]] bool free(orchid_call& call, void* memory) override;
  [[nodiscard]] Result<DeviceEnd> write(orchid_call& call, void* device,
                                        std::span<const std::byte> host) override;
  [[nodiscard]] Result<DeviceEnd> read(orchid_call& call, std::span<std::byte> host,
                                       const void* device) override;
  [[nodiscard]] Result<DeviceEnd> launch(orchid_call& call, const KernelLaunch& launch) override;
  [[nodiscard]] Result<DeviceEnd> wait(orchid_call& call) override;
  [[nodiscard]] std::string_view end_call() override;
  [[nodiscard]] int thread_count() const override { return 0; }

 private:
  /// A command whose answer has not been taken yet.
  struct Open {
    std::uint64_t request = 0;
    std::span<std::byte> read_to;  // where the bytes behind its answer belong; empty: nowhere
  };
  struct Answered {
    DeviceStatus status = DeviceStatus::ok;
    std::uint64_t value = 0;
    std::string message;
  };
  /// What an answer means for the entry.
  [[nodiscard]] static Result<DeviceEnd> end_of(const Result<Answered>& answered);
  [[nodiscard]] Result<DeviceEnd> begin(orchid_call& call);
  [[nodiscard]] Result<std::uint64_t> send(const DeviceCommand& command,
                                           std::span<const std::byte> first,
                                           std::span<const std::byte> second,
                                           std::span<std::byte> read_to);
  [[nodiscard]] Result<std::optional<Answered>> take_answer();
  [[nodiscard]] Result<Answered> await_answer(orchid_call* call, std::uint64_t request);
  [[nodiscard]] Result<Answered> ask(orchid_call& call, DeviceCommand command,
                                     std::span<const std::byte> first = {},
                                     std::span<const std::byte> second = {});
  [[nodiscard]] Result<DeviceEnd> copy(orchid_call& call, DeviceCommand command,
                                       std::span<std::byte> host);
  [[nodiscard]] Result<DeviceEnd> copy_in_pieces(orchid_call& call, DeviceCommand command,
                                                 std::span<std::byte> host);
  [[nodiscard]] Result<DeviceEnd> make_room_in_line(orchid_call& call);
  void sleep();

  Parts parts_;
  std::uint64_t seat_ = no_device_seat;  // that the lane is at
  std::uint64_t call_ = 0;               // that uses the GPU; 0: none does
  std::uint64_t last_request_ = 0;       // that was sent
  std::deque<Open> open_;                // in the order of their answers
  std::deque<std::uint64_t> launches_;   // of this call that may not have ended
};

}  // namespace orchid::executor
