#include "host_speeds.h"

#include <algorithm>
#include <cmath>

namespace orchid::flow {
namespace {

constexpr std::uint64_t least_calls = 4;    // before a host's speed is told
constexpr std::uint64_t most_counted = 32;  // about so many of the last calls count

/// The share of one more among so many.
double share_of_last(std::uint64_t calls) {
  return 1 / static_cast<double>(std::min(calls, most_counted));
}

}  // namespace

void HostSpeeds::learn(const PlannedCall* call, Device device, const std::string& host,
                       double piece_seconds) {
  const double taken = std::log(std::max(piece_seconds, 1e-9));
  Kind& kind = kinds_[{call, device}];
  if (kind.calls == 0) kind.first_host = host;
  kind.is_shared = kind.is_shared || host != kind.first_host;
  Speed& speed = speeds_[host];
  kind.level += (taken + speed.logarithm - kind.level) * share_of_last(++kind.calls);
  if (!kind.is_shared) return;
  speed.logarithm += (kind.level - taken - speed.logarithm) * share_of_last(++speed.calls);
}

std::map<std::string, double> HostSpeeds::all() const {
  std::map<std::string, double> known;
  double sum = 0;
  for (const auto& [host, speed] : speeds_) {
    if (speed.calls < least_calls) continue;
    known.emplace(host, std::exp(speed.logarithm));
    sum += known[host];
  }
  for (auto& [host, speed] : known) speed *= static_cast<double>(known.size()) / sum;
  return known;
}

}  // namespace orchid::flow
