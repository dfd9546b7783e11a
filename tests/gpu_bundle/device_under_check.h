// device_under_check.h: a real orchid-device, started and spoken to as executor and worker do.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "bundle.h"
#include "device/lane_commands.h"
#include "device/messages.h"
#include "foundation/result.h"
#include "foundation/unique_fd.h"
#include "problems.h"
#include "processes/child_process.h"
#include "transport/local_lane.h"

namespace orchid::gpu_check {

struct KernelName {
  std::uint32_t module = 0;
  const char* name = nullptr;
  std::uint32_t group_size = 0;
};

/// What the device process answered.
struct LaneAnswer {
  executor::DeviceStatus status = executor::DeviceStatus::ok;
  std::uint64_t value = 0;
  std::vector<std::byte> rest;  // a message, or what was read
};

/// Owned by one thread, which must not end before it: the process dies with that. No wait is longer
/// than what the executor allows; what comes too late is `timed_out`.
class DeviceUnderCheck {
 public:
  [[nodiscard]] static Result<std::unique_ptr<DeviceUnderCheck>> start(const Bundle& bundle);

  [[nodiscard]] const executor::DeviceReady& ready() const { return ready_; }
  [[nodiscard]] pid_t pid() const { return process_.pid(); }
  /// From its start until it was ready.
  [[nodiscard]] std::chrono::nanoseconds start_time() const { return start_time_; }

  // As the executor.

  /// `slab_bytes`: of each slab of the call's lane.
  [[nodiscard]] Result<void> begin_lane(std::uint64_t slab_bytes);
  /// How long the driver's compiler took.
  [[nodiscard]] Result<std::chrono::nanoseconds> load(std::uint32_t module,
                                                      const std::filesystem::path& ptx);
  [[nodiscard]] Result<void> stop_call();
  [[nodiscard]] Result<void> end_lane();
  /// SIGKILL; how long until it was reaped.
  [[nodiscard]] Result<std::chrono::nanoseconds> kill();

  // As the worker.

  [[nodiscard]] std::span<std::byte> input() { return call_->request_slab(); }
  [[nodiscard]] std::span<std::byte> output() { return call_->response_slab(); }
  [[nodiscard]] Result<std::uint64_t> allocate(std::uint64_t bytes);
  [[nodiscard]] Result<void> free(std::uint64_t address);
  /// Between the beginning of a slab and the device.
  [[nodiscard]] Result<void> write_input(std::uint64_t address, std::uint64_t bytes);
  [[nodiscard]] Result<void> read_output(std::uint64_t address, std::uint64_t bytes);
  /// Through the device lane itself: at most 8 MiB.
  [[nodiscard]] Result<std::vector<std::byte>> read(std::uint64_t address, std::uint64_t bytes);
  [[nodiscard]] Result<void> launch(const KernelName& kernel, const Arguments& arguments,
                                    std::uint64_t items);
  [[nodiscard]] Result<void> wait();
  /// The driver has what was launched, and it has not ended. The lane's next answer is that of a
  /// `wait`.
  [[nodiscard]] Result<void> see_running();
  /// A first part of the last launch has ended on the card.
  [[nodiscard]] Result<void> see_progress();
  /// Lets it work for so long. Errors: it has ended by itself.
  [[nodiscard]] Result<void> let_run(std::chrono::milliseconds time);
  [[nodiscard]] Result<LaneAnswer> receive();
  /// What the device process tells of the call then.
  [[nodiscard]] Result<executor::DeviceUsage> end_call();

 private:
  DeviceUnderCheck(processes::ChildProcess process, UniqueFd control)
      : process_(std::move(process)), control_(std::move(control)) {}

  [[nodiscard]] Result<void> tell(const executor::DeviceMessage& message,
                                  const std::vector<int>& descriptors = {});
  [[nodiscard]] Result<executor::DeviceMessage> hear(std::chrono::steady_clock::time_point end);
  template <typename Message>
  [[nodiscard]] Result<Message> expect(std::chrono::milliseconds longest) {
    const auto end = std::chrono::steady_clock::now() + longest;
    while (true) {
      auto message = hear(end);
      if (!message) return fail(std::move(message.error()));
      if (auto* const found = std::get_if<Message>(&*message)) return std::move(*found);
      if (const auto* refused = std::get_if<executor::KernelsRefused>(&*message))
        return fail(ErrorCode::module_rejected, refused->message);
    }
  }
  [[nodiscard]] Result<void> send(executor::DeviceCommand command,
                                  std::span<const std::byte> first = {},
                                  std::span<const std::byte> second = {});
  [[nodiscard]] Result<LaneAnswer> ask(const executor::DeviceCommand& command,
                                       std::span<const std::byte> first = {},
                                       std::span<const std::byte> second = {});
  [[nodiscard]] Failure why_it_ended();

  processes::ChildProcess process_;
  UniqueFd control_;
  executor::DeviceReady ready_;
  std::chrono::nanoseconds start_time_{0};
  std::uint64_t lane_number_ = 0;
  std::uint64_t call_number_ = 1;
  std::uint64_t last_launch_ = 0;
  std::optional<transport::LaneDescriptors> call_lane_;
  std::optional<transport::LaneMemory> call_;
  std::optional<transport::LocalLaneClient> lane_;
};

}  // namespace orchid::gpu_check
