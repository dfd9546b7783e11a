// How a crew is lost: a member of it, its executor, or its lease. Its calls begin again when all of
// its members are gone, wherever they are.
#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "crew/crew_core.h"
#include "http/problem.h"

namespace orchid::sdk {
namespace {

/// The other end of a connection that fell silent finds that out later than this one by less than
/// this: what it sent last may have left just before this end gave up, and it waits 6 s for that.
constexpr std::chrono::seconds silence_differs_by{7};
/// Of members at other executors nothing is heard for longer than it takes to find a connection
/// silent: their executor hangs. What they answer comes to nobody any more.
constexpr std::chrono::seconds gone_within{15};

}  // namespace

void CrewCore::hear_ended(std::size_t index, const LaneEnded& ended) {
  Seat& seat = seats_[index];
  if (seat.claimed) {  // of a crew that has not stood here
    seat.claimed.reset();
    seat.descriptors.clear();
    if (wiring_) end_wiring("a member was lost while the crew was formed");
  } else if (end_) {
    seat.ended = true;
    if (ended.started) named_.push_back(ended);
    if (why_lost_.empty()) why_lost_ = ended.message;
    if (begin_loss()) tell_of_loss("another member of the crew was lost");
    if (leaving_) seat.socket.reset();
  }
}

/// False: it has begun before.
bool CrewCore::begin_loss() {
  if (std::exchange(losing_, true)) return false;
  gone_until_ = std::chrono::steady_clock::now() + gone_within;
  return true;
}

/// An executor hangs whose kernel still answers: its members are given up, and the lease with them.
void CrewCore::give_up_members() {
  lose_lease("an executor did not end its members in time");
  if (leaving_) leaving_->until = gone_until_;
}

/// Executors end what they have of a crew together, and know nothing of each other.
void CrewCore::tell_of_loss(const std::string& why) {
  if (!spread_) return;
  for (Seat& seat : seats_)
    if (seat.socket && !seat.ended)
      (void)seat.socket->send(
          encode(LaneReplace{.reason = why, .worker = seat.worker, .crew_lost = true}), {});
}

/// A member writes nonsense, or hangs: the executor ends them all, and says so.
void CrewCore::break_up(const std::string& why) {
  if (!begin_loss()) return;
  broken_ = true;
  tell_all(LaneReplace{.reason = why});
}

/// A member at another executor does not answer any more: nobody here is to blame.
void CrewCore::part(const std::string& why) {
  if (why_lost_.empty()) why_lost_ = why;
  if (begin_loss()) tell_of_loss(why);
}

/// Whoever closes it has ended the member before, and whoever dies ends it by that. One that fails
/// in any other way says nothing about the member.
void CrewCore::lose_connection(std::size_t index) {
  Seat& seat = seats_[index];
  seat.gone_at = std::chrono::steady_clock::now();
  if (!seat.socket->has_hung_up()) *seat.gone_at += silence_differs_by;
  seat.socket.reset();
  lose_lease("its executor has ended the crew");
}

/// Nothing that it says counts any more. It ends its members when it sees the connection end.
void CrewCore::drop_executor(std::size_t index, const std::string& why) {
  Seat& seat = seats_[index];
  seat.gone_at = std::chrono::steady_clock::now() + silence_differs_by;
  seat.socket.reset();
  lose_lease(why);
}

/// Its workers are taken back, or its executor is gone: another crew is needed. Members at other
/// executors may run its calls meanwhile, until these hear of it.
void CrewCore::lose_lease(const std::string& why) {
  if (leaving_) return;
  leaving_ = Leaving{.why = why, .until = std::chrono::steady_clock::now() + gone_within};
  if (!end_) return leave_lease();
  if (begin_loss()) tell_of_loss("the lease of the crew's members is lost: " + why);
  for (Seat& seat : seats_)
    if (seat.ended) seat.socket.reset();  // nobody needs its next worker
}

bool CrewCore::is_gone(const Seat& seat, MonotonicTime now) const {
  return !end_ || seat.ended || (seat.gone_at && *seat.gone_at <= now);
}

void CrewCore::leave_lease() {
  const auto now = std::chrono::steady_clock::now();
  if (now < leaving_->until &&
      !std::ranges::all_of(seats_, [&](const Seat& seat) { return is_gone(seat, now); }))
    return;
  why_none_ = Error::Details{.kind = ErrorKind::lease_ended,
                             .message = leaving_->why,
                             .hint = hint_for(ErrorKind::lease_ended),
                             .node = node_};
  leaving_.reset();
  taken_back_ = true;
  end_loss();
  seats_.clear();
  stop_wiring();
  wants_lease_ = true;
  changed_.notify_all();
  wanted_.notify_all();
}

void CrewCore::end_loss() {
  // Members may have answered before they ended, and those answers count.
  if (end_) take_answers();
  if (end_) find_kept_answers();
  losing_ = false;
  shelves_.clear();
  end_.reset();
  wake_.clear();
  for (Seat& seat : seats_) {
    seat.ended = false;
    seat.pid = 0;
  }
  look_ups_.clear();  // whoever has asked is gone
  locates_.clear();
  for (const auto& [digest, module] : modules_) {
    module->loaded_at.clear();
    module->needed_at.clear();
  }
  take_back_all(std::exchange(broken_, false));
}

}  // namespace orchid::sdk
