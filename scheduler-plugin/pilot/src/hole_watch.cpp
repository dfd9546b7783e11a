#include "pilot/hole_watch.h"

namespace orchid::pilot {
namespace {

void note(std::optional<MonotonicTime>& since, bool is_so, MonotonicTime now) {
  if (!is_so)
    since.reset();
  else if (!since)
    since = now;
}

}  // namespace

void HoleWatch::begin(MonotonicTime now) {
  std::erase_if(waiting_, [this](const auto& entry) { return entry.second.last != now_; });
  now_ = now;
}

Wait HoleWatch::look(std::uint64_t job, Sight sight) {
  Known& known = waiting_.try_emplace(job, Known{.first = now_}).first->second;
  known.last = now_;
  note(known.gone_since, !sight.hole_is_there, now_);
  note(known.no_room_since, sight.no_room, now_);
  const auto lasts = [this](const std::optional<MonotonicTime>& since, std::chrono::seconds time) {
    return since && now_ - *since >= time;
  };
  if (lasts(known.gone_since, options_.gone_after)) return Wait::hole_gone;
  if (lasts(known.no_room_since, options_.no_room_after)) return Wait::not_given;
  return now_ - known.first < options_.no_start_after ? Wait::may_end : Wait::not_given;
}

}  // namespace orchid::pilot
