// device_under_test.h: a real orchid-device with the fake driver, spoken to as agent and worker do;
// no wait without a deadline.
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "device/lane_commands.h"
#include "device/messages.h"
#include "foundation/unique_fd.h"
#include "processes/child_process.h"
#include "scratch_folder.h"
#include "transport/local_lane.h"

namespace orchid::executor::test {

/// Arguments of the kernels `count`, `other` and `pieces`.
struct OnePointer {
  std::uint64_t memory = 0;
};

[[nodiscard]] constexpr std::uint8_t kind_of(DeviceCommandKind kind) {
  return static_cast<std::uint8_t>(kind);
}

struct LaneAnswer {
  std::uint64_t id = 0;  // of the request
  DeviceStatus status = DeviceStatus::ok;
  std::uint64_t value = 0;
  std::string text;  // the message, or what was read
};

/// The worker's end of a device lane, and the memory of its call's lane.
class WorkerEnd {
 public:
  WorkerEnd(transport::LaneDescriptors device, std::optional<transport::LaneMemory> call);

  /// Returns the request's id.
  std::uint64_t send(const DeviceCommand& command, std::string_view rest = {});
  std::uint64_t send_raw(std::string_view input, std::uint16_t flags = 0);
  /// Fails the test when nothing comes in time.
  [[nodiscard]] LaneAnswer receive();
  [[nodiscard]] LaneAnswer ask(const DeviceCommand& command, std::string_view rest = {});
  /// The same, asked again as long as it is answered `not_yet`.
  [[nodiscard]] LaneAnswer wait_for(std::uint64_t launch);

  [[nodiscard]] std::uint64_t allocate(std::uint64_t size);
  void write(std::uint64_t address, std::string_view bytes);
  [[nodiscard]] std::string read(std::uint64_t address, std::uint64_t size);
  template <typename Args>
  [[nodiscard]] LaneAnswer launch(const std::string& kernel, const Args& args,
                                  std::uint64_t items) {
    return launch_bytes(kernel, std::string_view(reinterpret_cast<const char*>(&args), sizeof args),
                        items);
  }
  [[nodiscard]] LaneAnswer launch_bytes(const std::string& kernel, std::string_view args,
                                        std::uint64_t items, std::uint32_t group_size = 0);
  [[nodiscard]] LaneAnswer end_call();

  [[nodiscard]] transport::LaneMemory& call_memory() { return *call_; }
  std::uint64_t call = 1;  // of the next commands

 private:
  std::optional<transport::LocalLaneClient> lane_;
  std::optional<transport::LaneMemory> call_;
};

class DeviceUnderTest {
 public:
  struct Options {
    std::string orders = {};
    bool has_driver = true;
  };
  /// Starts the program, and tells it to take the GPU.
  explicit DeviceUnderTest(const Options& options);
  DeviceUnderTest();

  /// What the fake driver is to do wrong from now on.
  void order(const std::string& orders);
  void send(const DeviceMessage& message, const std::vector<int>& descriptors = {});
  void send_raw(const std::string& text);
  [[nodiscard]] DeviceMessage receive();
  /// The next message of this kind; others before it are passed over.
  template <typename Message>
  [[nodiscard]] Message expect() {
    while (true) {
      auto message = receive();
      if (auto* const found = std::get_if<Message>(&message)) return std::move(*found);
    }
  }
  /// Whether the agent's socket has lost its peer.
  [[nodiscard]] bool is_gone();
  void close_socket() { socket_.reset(); }
  /// How it ended. Fails the test when it does not end in time.
  [[nodiscard]] processes::ProcessEnd wait_for_end();
  [[nodiscard]] processes::ChildProcess& process() { return *process_; }

  struct LaneTerms {
    std::uint64_t memory_limit = 64ULL << 20;
    std::uint64_t call_bytes = 0;  // of each slab of the call's lane; 0: it has none here
  };
  /// Ready for the worker's commands, with the test's kernels as module 0.
  [[nodiscard]] std::unique_ptr<WorkerEnd> open_lane(const LaneTerms& terms);
  [[nodiscard]] std::unique_ptr<WorkerEnd> open_lane() { return open_lane(LaneTerms{}); }
  void load(std::uint32_t module, const std::string& ptx);
  [[nodiscard]] std::uint64_t lane() const { return lane_; }  // the last one
  /// Ends the last lane; what it told on the way.
  [[nodiscard]] DeviceUsage end_lane();

 private:
  tests::Scratch scratch_;
  std::optional<processes::ChildProcess> process_;
  UniqueFd socket_;
  std::uint64_t lane_ = 0;
};

/// PTX that has the test's kernels.
[[nodiscard]] std::string kernels_ptx();
[[nodiscard]] std::string_view bytes_of(const auto& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0])};
}

}  // namespace orchid::executor::test
