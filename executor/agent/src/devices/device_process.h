// devices/device_process.h: one orchid-device process: started, spoken to, ended.
#pragma once
#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "channels/packet_channel.h"
#include "children/child_watch.h"
#include "children/own_program.h"
#include "children/time_limit.h"
#include "device/messages.h"
#include "foundation/units.h"

namespace orchid::executor {

/// Owned by the agent's thread. Lives until its process has ended, or kills it.
class DeviceProcess {
 public:
  struct Options {
    std::filesystem::path program;
    ByteCount data_limit = 1_GiB;  // of host memory, beyond what the driver takes
    std::chrono::milliseconds start_limit{30'000};
    std::chrono::milliseconds load_limit{60'000};   // for the driver's compiler
    std::chrono::milliseconds linger_after{5'000};  // from its kill until it lingers
    SchedulingClass scheduling = SchedulingClass::normal;
    /// "NAME=value", all of it: drivers are found and set by variables.
    std::vector<std::string> environment;
  };
  struct Handlers {
    /// All that it says while it is there.
    std::function<void(const DeviceMessage&)> told;
    /// It was killed and does not end: its driver keeps it, and perhaps the GPU.
    std::function<void()> lingers;
    /// Reaped. May destroy it.
    std::function<void(const ChildEvent&)> ended;
  };
  DeviceProcess(boost::asio::io_context& io, ChildWatch& children, const Options& options,
                Handlers handlers);
  ~DeviceProcess();
  DeviceProcess(const DeviceProcess&) = delete;
  DeviceProcess& operator=(const DeviceProcess&) = delete;

  /// `gpu`: as DeviceStart has it. Errors: `system`, `not_found`.
  [[nodiscard]] Result<void> start(const std::string& gpu);
  void send(const DeviceMessage& message, const std::vector<int>& descriptors = {});
  /// It is ours to end: that is nobody's fault.
  void put_down();
  [[nodiscard]] bool was_put_down() const { return put_down_; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  /// What it said of its end; nothing: it was ended without a word.
  [[nodiscard]] const std::optional<DeviceEnded>& last_words() const { return last_words_; }
  /// It was not ready in time, and ended for that.
  [[nodiscard]] bool started_too_slowly() const { return started_too_slowly_; }

 private:
  void happened(const ChildEvent& event);
  void from_device(Packet& packet);
  void kill();

  boost::asio::io_context& io_;
  ChildWatch& children_;
  const Options& options_;
  Handlers handlers_;
  std::unique_ptr<PacketChannel> channel_;
  pid_t pid_ = -1;
  bool put_down_ = false;
  bool killed_ = false;
  bool started_too_slowly_ = false;
  std::optional<DeviceEnded> last_words_;
  TimeLimit limit_;  // of its start, then of its end
};

}  // namespace orchid::executor
