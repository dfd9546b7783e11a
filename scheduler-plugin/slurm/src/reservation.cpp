#include "reservation.h"

#include <algorithm>
#include <utility>

namespace orchid::slurm {

std::map<std::string, ReservedPart> parts_of(const ReservationRow& reservation,
                                             const std::map<std::string, SourceNode>& nodes) {
  std::map<std::string, ReservedPart> parts;
  for (const auto& [name, text] : reservation.cores) {
    if (!nodes.contains(name)) continue;
    CoreList cores = parse_core_list(text).value_or(CoreList{});
    const auto count = static_cast<std::uint32_t>(cores.size());
    parts[name] = {.is_whole_node = false, .count = count, .cores = std::move(cores)};
  }
  if (!parts.empty()) return parts;
  std::uint64_t all = 0;
  for (const std::string& name : reservation.nodes)
    if (const auto node = nodes.find(name); node != nodes.end()) all += node->second.cores();
  const bool is_whole = reservation.core_count == 0 || reservation.core_count >= all;
  for (const std::string& name : reservation.nodes) {
    const auto node = nodes.find(name);
    if (node == nodes.end()) continue;
    const std::uint32_t cores = node->second.cores();
    parts[name] =
        is_whole
            ? ReservedPart{.is_whole_node = true, .count = cores, .cores = first_numbers(cores)}
            : ReservedPart{.is_whole_node = false,
                           .count = std::min(reservation.core_count, cores),
                           .cores = {}};
  }
  return parts;
}

}  // namespace orchid::slurm
