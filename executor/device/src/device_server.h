// device_server.h: a device process once it is confined: hears the agent, serves a lane.
#pragma once
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "device/messages.h"
#include "foundation/sockets.h"
#include "lane/device_lane.h"

namespace orchid::executor {

/// Owned by the only thread of ours.
class DeviceServer {
 public:
  /// `control`: the packet socket to the agent.
  DeviceServer(Driver& driver, CopyResources copies, int control)
      : driver_(driver), launches_(driver), copies_(std::move(copies)), control_(control) {}

  /// Until the agent has gone (0), or the GPU cannot be used any more (1). The exit status.
  int run();

 private:
  /// Whether to go on.
  [[nodiscard]] bool work_on_lane();
  void tell_worker() const;
  [[nodiscard]] bool hear_agent();
  void obey(Packet packet);
  void serve(const ServeLane& order, std::vector<UniqueFd> descriptors);
  void load(const LoadKernels& order, const std::vector<UniqueFd>& descriptors);
  void end(const EndLane& order);
  void wait();
  void report(const DeviceMessage& message);
  void keep(const DeviceUsage& usage);
  void tell_usage_in_turn();
  void tell_usage(std::chrono::milliseconds patience);
  [[nodiscard]] bool can_send(std::chrono::milliseconds patience) const;
  void send(const DeviceMessage& message);

  Driver& driver_;
  LaunchQueue launches_;
  CopyResources copies_;
  int control_;
  std::unique_ptr<DeviceLane> lane_;
  std::chrono::steady_clock::time_point last_step_;  // that has done something
  std::optional<DeviceUsage> usage_;  // not sent yet, of this lane and those before it
  std::chrono::steady_clock::time_point usage_due_;  // then some more may be sent
  unsigned usages_left_ = 0;                         // until then
  bool agent_is_there_ = true;
};

}  // namespace orchid::executor
