// protocol/lane_protocol.h: the versions of the conversation between an executor and who claims its
// workers (docs/PROTOCOL.md §3).
#pragma once
#include <cstddef>
#include <cstdint>

namespace orchid {

/// What a client says that loads several modules into one worker.
constexpr std::uint32_t shared_lane_protocol = 1;
/// What a gateway says for its own leases: each connection is one worker for one module, and the
/// connections of a lease share its place. A client says it for a lease of separate processes: its
/// worker has one module at a time, and is replaced when another one is announced.
constexpr std::uint32_t apart_lane_protocol = 2;
/// What a client says of a lease whose workers are the members of a crew (protocol/crew.h).
constexpr std::uint32_t crew_lane_protocol = 3;
/// The same of a crew whose members are at several executors, or elsewhere than their client. With
/// 4, which nobody speaks any more, a member showed the pair's key to whoever was at the address
/// that it had been told.
constexpr std::uint32_t spread_crew_lane_protocol = 5;
/// The newest that this version speaks.
constexpr std::uint32_t newest_lane_protocol = spread_crew_lane_protocol;
/// A place keeps so many workers of different modules; the one that ran longest ago goes first.
constexpr std::size_t warm_workers_per_place = 8;

}  // namespace orchid
