// devices/device_pool.h: the GPUs that this executor offers.
#pragma once
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "children/child_watch.h"
#include "devices/gpu.h"
#include "protocol/control_messages.h"
#include "protocol/core_list.h"

namespace orchid::executor {

/// Owned by the agent's thread.
class DevicePool {
 public:
  struct Offer {
    const std::vector<OfferedGpu>& gpus;
    /// The driver's names of some of them, by index. Those of one name share a card in time, and
    /// its memory in equal parts.
    const std::map<std::uint32_t, std::string>& uuids;
  };
  /// `changed`: what can be used is something else than before.
  DevicePool(boost::asio::io_context& io, ChildWatch& children, DeviceProcess::Options options,
             const Offer& offer, std::function<void()> changed);

  void start();
  /// Ends the processes; none is started any more.
  void stop();
  /// Null: it is not offered.
  [[nodiscard]] Gpu* find(std::uint32_t index) const;
  /// As the gateway is told of them, with their faults.
  [[nodiscard]] std::vector<OfferedGpu> offered() const;
  /// Those without a fault.
  [[nodiscard]] CoreList usable() const;
  /// The lease is over. `done` comes, now or later, when no process that has served it is left,
  /// or each one that is has been found not to end.
  void vacate(const LeaseId& lease, std::function<void()> done);
  /// Adds what it has counted.
  void count(std::map<std::string, std::uint64_t>& counters) const;

 private:
  DeviceProcess::Options options_;
  std::vector<std::unique_ptr<Gpu>> gpus_;
};

}  // namespace orchid::executor
