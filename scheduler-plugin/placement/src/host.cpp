#include "placement/host.h"

namespace orchid::placement {

std::string_view to_string(HostKind kind) {
  switch (kind) {
    case HostKind::cpu:
      return "cpu";
    case HostKind::gpu:
      return "gpu";
    case HostKind::dpu:
      return "dpu";
  }
  return "cpu";
}

std::optional<HostKind> parse_host_kind(std::string_view name) {
  for (const HostKind kind : {HostKind::cpu, HostKind::gpu, HostKind::dpu})
    if (to_string(kind) == name) return kind;
  return std::nullopt;
}

}  // namespace orchid::placement
