#include "pilot/pilot_controller.h"

#include <algorithm>

namespace orchid::pilot {
namespace {

using std::chrono::seconds;

/// Of a hole that ends: a pilot as long as the hole would have to start at once.
constexpr seconds start_up{10};

struct Place {
  std::string node;
  std::uint32_t cores = 0;
  seconds room{0};
};

/// Where a pilot fits, the longest-lasting first; what pilots that wait for a node will take is
/// gone.
std::vector<Place> places_for(const Situation& situation, const PilotOptions& options) {
  std::map<std::string, std::uint32_t> promised;
  for (const Pilot& pilot : situation.pilots)
    if (!pilot.runs && !pilot.node.empty()) promised[pilot.node] += pilot.cores;
  std::map<std::string, Place> by_node;
  for (const Hole& hole : *situation.holes) {
    const seconds room = hole.lasts ? *hole.lasts - start_up : options.longest;
    const std::uint32_t taken = promised.contains(hole.node) ? promised.at(hole.node) : 0;
    const std::uint32_t cores = hole.cores > taken ? hole.cores - taken : 0;
    if (room < options.shortest || cores < options.least_cores) continue;
    by_node.try_emplace(hole.node, Place{hole.node, cores, room});
  }
  std::vector<Place> places;
  for (auto& [node, place] : by_node) places.push_back(std::move(place));
  std::ranges::stable_sort(places, [](const Place& a, const Place& b) {
    return std::pair(a.room, a.cores) > std::pair(b.room, b.cores);
  });
  return places;
}

}  // namespace

Result<void> check(const PilotOptions& o) {
  if (o.shortest < seconds(60) || o.longest < o.shortest)
    return fail(ErrorCode::bad_configuration,
                "the shortest time of a pilot must be 1 minute or more, and not over the longest");
  if (o.most_cores == 0 || o.least_cores == 0 || o.least_cores > o.most_cores)
    return fail(ErrorCode::bad_configuration,
                "a pilot has at least 1 core, and its least cores are not over its most");
  if (o.grow_after.count() < 0 || o.shrink_after.count() < 1 || o.renew_before.count() < 0 ||
      o.missed_after.count() < 0 || o.first_pause.count() < 1 || o.longest_pause < o.first_pause)
    return fail(ErrorCode::bad_configuration, "the pilots' times must be positive, in seconds");
  if (o.renew_before >= o.shortest)
    return fail(ErrorCode::bad_configuration,
                "pilots are renewed before they have begun: the time before their end must be less "
                "than the shortest time");
  return {};
}

PilotController::PilotController(PilotOptions options)
    : options_(options), pause_(options.first_pause) {
  // Halves: backfill can place the short ones in holes that are too short for others.
  for (seconds length = options_.longest; length > options_.shortest; length /= 2)
    lengths_.push_back(length);
  lengths_.push_back(options_.shortest);
}

/// Lengths in turn, so that whatever hole opens, one that waits may fit.
seconds PilotController::next_length() { return lengths_[next_length_++ % lengths_.size()]; }

seconds PilotController::longest_mixed(seconds room) const {
  const auto fits =
      std::ranges::find_if(lengths_, [room](const seconds length) { return length <= room; });
  return fits == lengths_.end() ? options_.shortest : *fits;
}

bool PilotController::is_ending(MonotonicTime now, const Pilot& pilot) const {
  return pilot.runs && pilot.ends && *pilot.ends - now <= options_.renew_before;
}

/// What is wanted beyond what is on its way. Demand has to last; what replaces pilots that are used
/// and about to end has lasted already.
std::uint32_t PilotController::missing_cores(MonotonicTime now, const Situation& situation) {
  std::uint64_t coming = 0;
  std::uint64_t ending = 0;
  std::uint64_t spare = 0;  // where what ends can go on
  for (const Pilot& pilot : situation.pilots) {
    if (is_ending(now, pilot))
      ending += pilot.cores_used;
    else if (!pilot.runs || !pilot.joined)
      coming += pilot.cores;
    else if (pilot.cores > pilot.cores_used)
      spare += pilot.cores - pilot.cores_used;
  }
  ending -= std::min(ending, spare);
  const std::uint64_t wanted = situation.cores_wanted;
  if (wanted + ending <= coming) {
    short_since_.reset();
    return 0;
  }
  if (wanted == 0) short_since_.reset();
  if (wanted > 0 && !short_since_) short_since_ = now;
  const bool lasts = short_since_ && now - *short_since_ >= options_.grow_after;
  const std::uint64_t counted = (lasts ? wanted : 0) + ending;
  return counted <= coming
             ? 0
             : static_cast<std::uint32_t>(std::min<std::uint64_t>(counted - coming, 1U << 30));
}

void PilotController::cancel_idle(MonotonicTime now, const Situation& situation,
                                  std::vector<PilotAction>& actions) {
  std::map<std::uint64_t, MonotonicTime> idle;
  const bool needed =
      situation.cores_wanted != 0 || std::ranges::any_of(situation.pilots, [&](const Pilot& pilot) {
        return pilot.cores_used != 0 && is_ending(now, pilot);
      });
  for (const Pilot& pilot : situation.pilots) {
    if (pilot.cores_used != 0 || needed) continue;
    const auto known = idle_since_.find(pilot.job);
    const MonotonicTime since = known == idle_since_.end() ? now : known->second;
    idle[pilot.job] = since;
    if (now - since >= options_.shrink_after) actions.emplace_back(CancelPilot{pilot.job});
  }
  idle_since_ = std::move(idle);
}

/// A pilot waits for a hole that has become too small: backfill will not start it before its node
/// has that many cores again, and it keeps others from waiting for what is there.
void PilotController::cancel_missed(MonotonicTime now, Situation& situation,
                                    std::vector<PilotAction>& actions) {
  if (!situation.holes) return;
  std::map<std::uint64_t, MonotonicTime> missed;
  std::erase_if(situation.pilots, [&](const Pilot& pilot) {
    if (pilot.runs || pilot.node.empty()) return false;
    const bool fits = std::ranges::any_of(*situation.holes, [&](const Hole& hole) {
      return hole.node == pilot.node && hole.cores >= pilot.cores;
    });
    if (fits) return false;
    const auto known = missed_since_.find(pilot.job);
    const MonotonicTime since = known == missed_since_.end() ? now : known->second;
    missed.emplace(pilot.job, since);
    if (now - since < options_.missed_after) return false;
    actions.emplace_back(CancelPilot{pilot.job});
    return true;
  });
  missed_since_ = std::move(missed);
}

std::vector<PilotAction> PilotController::decide(MonotonicTime now, Situation situation) {
  std::vector<PilotAction> actions;
  cancel_missed(now, situation, actions);
  cancel_idle(now, situation, actions);
  std::uint64_t missing = missing_cores(now, situation);
  const auto waiting = static_cast<std::uint64_t>(
      std::ranges::count_if(situation.pilots, [](const Pilot& pilot) { return !pilot.runs; }));
  const auto room = [](std::uint64_t most, std::uint64_t have) {
    return most > have ? most - have : 0;
  };
  std::uint64_t may_submit = std::min(room(options_.most_queued, waiting),
                                      room(options_.most_running, situation.pilots.size()));
  if (paused_until_ && now < *paused_until_) return actions;
  std::vector<Place> places;
  if (situation.holes) places = places_for(situation, options_);
  const bool blind = !situation.holes.has_value();
  for (std::size_t i = 0; missing > 0 && may_submit > 0; ++i) {
    SubmitPilot submit;
    if (i < places.size()) {
      submit = {
          .cores = places[i].cores, .time = longest_mixed(places[i].room), .node = places[i].node};
    } else if (blind || waiting == 0) {
      // Where no hole is known, few wait for one: they may start when something ends early.
      submit = {.cores = options_.most_cores, .time = next_length()};
    } else {
      break;
    }
    submit.cores = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
        missing, options_.least_cores, std::min(submit.cores, options_.most_cores)));
    missing -= std::min<std::uint64_t>(missing, submit.cores);
    --may_submit;
    actions.emplace_back(std::move(submit));
  }
  return actions;
}

void PilotController::submission_failed(MonotonicTime now) {
  paused_until_ = now + pause_;
  pause_ = std::min(pause_ * 2, options_.longest_pause);
}

}  // namespace orchid::pilot
