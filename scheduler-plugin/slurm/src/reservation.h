// reservation.h: what a reservation takes of each of its nodes.
#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "cluster_tables.h"
#include "protocol/source_messages.h"

namespace orchid::slurm {

struct ReservedPart {
  bool is_whole_node = false;
  std::uint32_t count = 0;  // of cores
  CoreList cores;           // those of them whose numbers are known
};

/// By node. slurmctld does not always tell which cores of a node are reserved, and of several nodes
/// not how many of each: then as many as there can be of each one.
[[nodiscard]] std::map<std::string, ReservedPart> parts_of(
    const ReservationRow& reservation, const std::map<std::string, SourceNode>& nodes);

}  // namespace orchid::slurm
