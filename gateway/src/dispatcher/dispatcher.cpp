#include "dispatcher/dispatcher.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

namespace orchid::gateway {
namespace {

/// Modules that idle workers are to load ahead; more come too late for their calls.
constexpr std::size_t most_coming = 16;

}  // namespace

Dispatcher::Dispatcher(boost::asio::io_context& io, const Clock& clock, WorkerSupply& supply,
                       Options options)
    : io_(io),
      clock_(clock),
      supply_(supply),
      options_(options),
      timer_(io),
      ready_since_(MonotonicTime::min()),
      last_ready_(MonotonicTime::min()),
      spin_until_(MonotonicTime::min()),
      next_look_(MonotonicTime::max()) {}

Dispatcher::~Dispatcher() {
  for (const auto& place : places_) {
    for (const auto& lane : place->lanes) lane->close();
    supply_.give_back(options_.id, place->grant().lease);
  }
}

void Dispatcher::start(Call call, CallDone done) {
  const auto refuse = [&done](Outcome outcome, std::string message) {
    CallResult result;
    result.outcome = outcome;
    result.message = std::move(message);
    done(std::move(result));
  };
  if (stopped_) return refuse(Outcome::cancelled, "the gateway is stopping");
  const MonotonicTime now = clock_.now();
  if (call.deadline <= now)
    return refuse(Outcome::deadline_exceeded, "the deadline passed before a worker was looked for");
  if (waiting_count_ >= options_.most_waiting)
    return refuse(Outcome::no_capacity,
                  std::to_string(waiting_count_) + " calls are waiting already; try again later");
  enqueue(std::move(call), std::move(done), now);
  if (!told_.missing.empty()) fail_without_executor(now);
  update_want();
  arm_timer(now);
}

void Dispatcher::expect(uid_t /*tenant*/, const std::shared_ptr<const FunctionVersion>& version) {
  if (!stopped_) (void)load_at_idle_place(version);
}

void Dispatcher::warm(uid_t /*tenant*/, const std::shared_ptr<const FunctionVersion>& version,
                      const CallPlace& /*place*/) {
  if (stopped_ || is_on_its_way(function_of(version))) return;
  const MonotonicTime now = clock_.now();
  std::erase_if(coming_, [&](const Coming& one) { return one.version == version; });
  if (coming_.size() == most_coming) coming_.pop_front();
  coming_.push_back({.version = version, .until = now + options_.give_back_after});
  load_coming(now);
}

/// The oldest one that is still to come, if no call waits for a worker; null: nothing.
std::shared_ptr<const FunctionVersion> Dispatcher::next_coming(MonotonicTime now) {
  std::erase_if(coming_, [now](const Coming& one) { return one.until <= now; });
  return coming_.empty() || waiting_count_ > 0 ? nullptr : coming_.front().version;
}

/// By workers that are idle now; for the oldest that is left one more is asked for, once. While
/// calls wait they have the next worker.
void Dispatcher::load_coming(MonotonicTime now) {
  if (next_coming(now) == nullptr) return;
  std::erase_if(coming_, [this](const Coming& one) { return load_at_idle_place(one.version); });
  if (!coming_.empty() && !std::exchange(coming_.front().is_asked_for, true))
    supply_.spare_worker(options_.id);
}

/// A worker that was taken ahead of other calls than this one's is asked for again.
void Dispatcher::use_up(DispatchPlace& place, const std::shared_ptr<const FunctionVersion>& by,
                        MonotonicTime now) {
  const auto ahead_of = std::exchange(place.ahead_of, nullptr);
  if (ahead_of == nullptr || ahead_of == by || place.ahead_until <= now ||
      coming_.size() == most_coming)
    return;
  coming_.push_back({.version = ahead_of, .until = place.ahead_until});
  next_look_ = std::min(next_look_, now);
}

/// False: there is none for it.
bool Dispatcher::load_at_idle_place(const std::shared_ptr<const FunctionVersion>& version) {
  DispatchFunction& function = function_of(version);
  for (const auto& place : places_) {
    if (!place->is_ready() || !place->is_idle() || place->suspect || place->leaving ||
        place->closed || place->loads_any([](std::uint64_t) { return true; }))
      continue;
    const DispatchLane* lane = place->lane_for(function.number);
    // It is not worth another module's worker.
    if (lane != nullptr ? lane->phase() != LanePhase::ready : place->is_full()) continue;
    load(*place, function, version);
    return true;
  }
  return false;
}

void Dispatcher::cancel(const std::string& invocation) {
  const auto found = by_invocation_.find(invocation);
  if (found == by_invocation_.end()) return;
  DispatchCall& call = *found->second;
  call.history.cancelled = true;
  if (call.is_waiting() || call.lane->flights.front() != &call)
    return finish_behind(call, Outcome::cancelled, "cancelled while it waited");
  call.lane->cancel_unwanted();
  const MonotonicTime now = clock_.now();
  deadlines_.move(call, std::min(call.due, now + lane_client::answer_grace + limits::cancel_grace));
  arm_timer(now);
}

RunningLog Dispatcher::running_log(const std::string& invocation) const {
  const auto found = by_invocation_.find(invocation);
  if (found == by_invocation_.end() || found->second->is_waiting()) return {};
  const auto& end = found->second->lane->end();
  return end ? end->client.running_log(found->second->request) : RunningLog{};
}

std::optional<double> Dispatcher::running_progress(const std::string& invocation) const {
  const auto found = by_invocation_.find(invocation);
  if (found == by_invocation_.end() || found->second->is_waiting()) return std::nullopt;
  const auto& end = found->second->lane->end();
  return end ? end->client.running_progress(found->second->request) : std::nullopt;
}

bool Dispatcher::poll() {
  dead_lanes_.clear();
  dead_places_.clear();
  bool any = std::exchange(*room_came_back_, false);
  // By index: an answer's `done` may start a call, and a lost place leaves the list.
  for (std::size_t i = 0; i < places_.size(); ++i) {
    DispatchLane* lane = places_[i]->busy();
    if (lane == nullptr || !lane->end()) continue;
    if (drain(*lane, std::shared_ptr(lane->end()))) any = true;
  }
  if (any && waiting_count_ > 0) pump();
  return any;
}

bool Dispatcher::expects_answer_soon() const {
  return demand_.short_calls > 0 && clock_.now() < spin_until_;
}

bool Dispatcher::prepare_to_sleep() {
  if (*room_came_back_ && waiting_count_ > 0) return false;
  for (const auto& place : places_) {
    DispatchLane* lane = place->busy();
    if (lane == nullptr || !lane->end()) continue;
    if (!lane->end()->client.prepare_to_sleep()) {
      finish_sleep();
      return false;
    }
    lane->arm_wake();
    asleep_.push_back(lane->end());
  }
  return true;
}

void Dispatcher::finish_sleep() {
  for (const auto& end : asleep_) end->client.finish_sleep();
  asleep_.clear();
}

void Dispatcher::supply_is(const Supply& supply) {
  const MonotonicTime now = clock_.now();
  if (!supply.exists && told_.exists) supply_missing_since_ = now;
  told_ = supply;
  if (!told_.missing.empty()) fail_without_executor(now);
}

void Dispatcher::expire() {
  const MonotonicTime now = clock_.now();
  while (!deadlines_.empty() && deadlines_.earliest().due <= now)
    expire_call(deadlines_.earliest(), now);
  if (now >= next_look_) {
    fail_without_executor(now);
    look_after_places(now);
    if (waiting_count_ > 0) pump();
    lower_want();
  }
  arm_timer(now);
}

void Dispatcher::stop() {
  stopped_ = true;
  while (!places_.empty())
    lose_place(*places_.front(), {.outcome = Outcome::cancelled, .why = "the gateway is stopping"});
  while (!by_invocation_.empty())
    finish_failed(*by_invocation_.begin()->second, Outcome::cancelled, "the gateway is stopping");
  return_delayed(MonotonicTime::max());
  timer_.cancel();
}

void Dispatcher::arm_timer(MonotonicTime now) {
  if (stopped_) return;
  if (waiting_count_ > 0) next_look_ = std::min(next_look_, now + busy_look);
  MonotonicTime due = next_look_;
  if (!deadlines_.empty()) due = std::min(due, deadlines_.earliest().due);
  if (due >= timer_due_) return;
  timer_due_ = due;
  timer_.expires_after(std::max<MonotonicTime::duration>(due - now, std::chrono::microseconds{0}));
  timer_.async_wait([this, alive = std::weak_ptr(alive_)](boost::system::error_code error) {
    if (error || alive.expired()) return;
    timer_due_ = MonotonicTime::max();
    expire();
  });
}

bool Dispatcher::has_ready_lane() const {
  return std::ranges::any_of(places_, [](const auto& place) { return place->is_ready(); });
}

}  // namespace orchid::gateway
