// pilot_places.h: where pilots could be, and what they would be made for. Plain functions over
// plain data.
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "pilot/pilot_controller.h"

namespace orchid::pilot {

/// A pilot lasts so much longer than its workers have to: it has to start, and ends early.
constexpr std::chrono::seconds worker_margin{30};

/// A pilot that is being made.
struct Place {
  Node node{};  // without a name: any
  Room room{};  // that is left for further workers
  std::chrono::seconds lasts{0};
  SubmitPilot pilot{};  // with no cores as long as it has no worker
};

/// In the holes, the longest-lasting first; what pilots that wait for a node will take is gone.
/// `room.cores` is not bounded by what a pilot may have.
[[nodiscard]] std::vector<Place> places_in_holes(const Situation& situation,
                                                 const PilotOptions& options);
/// On nothing that is free: for the first of this demand, where it could come free.
[[nodiscard]] std::optional<Place> place_to_wait(const WorkerDemand& demand,
                                                 const Situation& situation,
                                                 const PilotOptions& options);
/// Takes what fits of the demand's alternative `number` into the pilot; each row has as many fewer
/// workers then.
void fill(Place& place, std::vector<WorkerDemand>& demand, std::size_t number);
/// At least what the options say, as far as there is room.
void round_up(Place& place, const PilotOptions& options);

/// Its node, if the situation knows it.
[[nodiscard]] const Node* node_of(const Situation& situation, const std::string& name);
/// Of a pilot: all of it, or what no worker has.
[[nodiscard]] Room whole_room(const Pilot& pilot);
[[nodiscard]] Room free_room(const Pilot& pilot);
/// Whether workers that want such a host could be in the pilot, as far as is known.
[[nodiscard]] bool suits(const WorkerRequest& worker, const Pilot& pilot,
                         const Situation& situation);
[[nodiscard]] bool any_left(const std::vector<WorkerDemand>& demand);

}  // namespace orchid::pilot
