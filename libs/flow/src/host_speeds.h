// host_speeds.h: how fast hosts are in comparison, by what calls of the same node take on each.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "flow/devices.h"
#include "flow/plan.h"

namespace orchid::flow {

/// A call is compared with what others of its kind take at that moment, on hosts as fast as they
/// have shown to be: so pieces that become longer while the flow runs slow no host down. Calls of
/// different nodes are not compared, since each may have its own data on its own hosts. Owned by
/// the tuner; the plan outlives it.
class HostSpeeds {
 public:
  /// `call`: of the plan.
  void learn(const PlannedCall* call, Device device, const std::string& host, double piece_seconds);
  /// By host; the mean of all is 1. Hosts that were not compared yet are not there.
  [[nodiscard]] std::map<std::string, double> all() const;

 private:
  /// Calls that are alike.
  struct Kind {
    std::uint64_t calls = 0;
    double level = 0;        // logarithm of the seconds of a piece on a host of speed 1
    std::string first_host;  // until there is another one
    bool is_shared = false;  // there were several
  };
  struct Speed {
    std::uint64_t calls = 0;  // that were compared
    double logarithm = 0;
  };
  std::map<std::pair<const PlannedCall*, Device>, Kind> kinds_;
  std::map<std::string, Speed> speeds_;
};

}  // namespace orchid::flow
