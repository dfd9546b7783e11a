// placement/host.h: a machine, as placement sees it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/strong_id.h"
#include "foundation/units.h"

namespace orchid::placement {

/// The boot id: a machine that starts anew is another host.
using HostId = StrongId<struct HostIdTag, std::string>;

enum class HostKind : std::uint8_t { cpu, gpu, dpu };
[[nodiscard]] std::string_view to_string(HostKind kind);
[[nodiscard]] std::optional<HostKind> parse_host_kind(std::string_view name);

struct Core {
  std::uint32_t number = 0;  // of the operating system; below CoreSet::limit
  std::uint32_t numa_node = 0;
};

struct Gpu {
  std::uint32_t index = 0;  // below CoreSet::limit
  std::string model;
  std::optional<std::uint32_t> numa_node = {};  // nothing: not known
  friend bool operator==(const Gpu&, const Gpu&) = default;
};

/// What a host is. What of it may be used is said by grants. A value.
struct Host {
  HostId id;
  std::string name;
  std::string architecture;  // "x86_64"
  std::string cluster{};     // its batch system's name; empty: of none
  HostKind kind = HostKind::cpu;
  std::vector<std::string> features;
  std::vector<Core> cores;
  ByteCount memory;
  std::vector<Gpu> gpus;
  // For the estimate of a host's power between two reports; 0: what it draws is taken as it is.
  double watts_per_core = 0;
  std::optional<double> watts_at_most;  // the site's cap
};

}  // namespace orchid::placement
