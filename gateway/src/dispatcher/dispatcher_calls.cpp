// The waiting calls: how they come in and get a place in a lane.
#include <algorithm>
#include <cassert>
#include <chrono>
#include <utility>

#include "dispatcher/dispatcher.h"
#include "lane_client/call_with_data.h"
#include "protocol/limits.h"

namespace orchid::gateway {
namespace {

constexpr std::size_t known_functions =
    4096;  // beyond that, those without live calls are forgotten
constexpr std::size_t functions_per_round =
    64;  // a round of placing looks at the longest waiting ones only
constexpr std::chrono::microseconds spin_time{20};
constexpr std::chrono::microseconds spin_time_of_sleeper{60};  // its worker is woken first
constexpr std::chrono::milliseconds overdue_short_call{1};     // nothing is sent behind it then

std::chrono::microseconds whole_microseconds(MonotonicTime::duration time) {
  return std::max(std::chrono::duration_cast<std::chrono::microseconds>(time),
                  std::chrono::microseconds{0});
}

}  // namespace

DispatchFunction& Dispatcher::function_of(const std::shared_ptr<const FunctionVersion>& version) {
  if (const auto found = functions_.find(version->digest); found != functions_.end())
    return *found->second;
  if (functions_.size() >= known_functions)
    std::erase_if(functions_, [this](const auto& entry) {
      return entry.second->live == 0 && by_number_.erase(entry.second->number) > 0;
    });
  auto& function = functions_[version->digest];
  function = std::make_unique<DispatchFunction>();
  function->number = next_function_++;
  by_number_[function->number] = function.get();
  return *function;
}

DispatchFunction* Dispatcher::find_function(std::uint64_t number) {
  const auto found = by_number_.find(number);
  return found == by_number_.end() ? nullptr : found->second;
}

void Dispatcher::enqueue(Call call, CallDone done, MonotonicTime now) {
  DispatchFunction& function = function_of(call.version);
  const std::uint64_t number = function.number;
  function.version = call.version;
  DispatchCall& added = function.waiting.emplace_back();
  added.call = std::move(call);
  added.done = std::move(done);
  added.function = &function;
  added.home = &function.waiting;
  added.self = std::prev(function.waiting.end());
  added.number = next_call_++;
  added.needs_clear_lane = added.call.at_most_once;
  ++demand_.long_calls;  // until classified
  classify(added);
  ++function.live;
  ++waiting_count_;
  deadlines_.insert(added, added.call.deadline);
  by_invocation_.emplace(added.call.invocation, &added);
  place_all(number, now);
  if (DispatchFunction* still = find_function(number)) reindex(*still);
}

/// Calls of a module that has become known as short count as short work from the next look on.
void Dispatcher::classify(DispatchCall& call) {
  const auto take_out = [this](const DispatchCall& c) {
    if (c.is_short) {
      --demand_.short_calls;
      demand_.short_work -= c.expected;
    } else {
      --demand_.long_calls;
    }
  };
  take_out(call);
  const auto& estimate = call.function->estimate(call.call.entry);
  call.is_short = is_short(estimate);
  call.expected = estimate.mean();
  if (call.is_short) {
    ++demand_.short_calls;
    demand_.short_work += call.expected;
  } else {
    ++demand_.long_calls;
  }
}

/// Keeps the index of modules with waiting calls, oldest call first.
void Dispatcher::reindex(DispatchFunction& function) {
  const std::uint64_t key = function.waiting.empty() ? 0 : function.waiting.front().number;
  if (key == function.waiting_key) return;
  if (function.waiting_key != 0) waiting_.erase(function.waiting_key);
  if (key != 0) waiting_.emplace(key, &function);
  function.waiting_key = key;
}

void Dispatcher::pump() {
  if (std::exchange(pumping_, true)) {
    pump_again_ = true;
    return;
  }
  do {
    pump_again_ = false;
    const MonotonicTime now = clock_.now();
    std::vector<std::uint64_t> numbers;
    for (const auto& [key, function] : waiting_) {
      if (numbers.size() == functions_per_round) break;
      numbers.push_back(function->number);
    }
    for (const std::uint64_t number : numbers) place_all(number, now);
  } while (pump_again_);
  pumping_ = false;
}

/// The function is looked up each time: a call that ends at once may have brought changes.
void Dispatcher::place_all(std::uint64_t number, MonotonicTime now) {
  DispatchFunction* function = find_function(number);
  while (function != nullptr && !function->waiting.empty() && place_first(*function, now))
    function = find_function(number);
}

/// Until the last of its waiting calls gives up.
std::chrono::milliseconds Dispatcher::longest_wait(const DispatchFunction& function,
                                                   MonotonicTime now) {
  MonotonicTime last = now;
  for (const DispatchCall& call : function.waiting) last = std::max(last, call.call.deadline);
  return std::chrono::ceil<std::chrono::milliseconds>(
      std::min<MonotonicTime::duration>(last - now, limits::longest_deadline));
}

/// False: the module's first waiting call has to wait on. Each round sends, or makes a lane full or
/// loading; so it ends. A lane that is to load and has nothing to ask for is waited for, whatever
/// its executor has made of it.
bool Dispatcher::place_first(DispatchFunction& function, MonotonicTime now) {
  DispatchCall& call = function.waiting.front();
  while (true) {
    view_places(function, now);
    classify(call);
    const Choice choice = choose_lane(views_, {.is_short = call.is_short,
                                               .needs_clear_lane = call.needs_clear_lane,
                                               .waiting = function.waiting.size()});
    if (choice.kind == Choice::Kind::wait) return false;
    DispatchPlace& place = *places_[choice.lane];
    if (choice.kind == Choice::Kind::load) {
      if (!load(place, function, function.version, longest_wait(function, now))) return false;
    } else if (send(*place.lane_for(function.number), call, now)) {
      return true;
    }
  }
}

/// The oldest call of all, unless it is of `by`. One whose code is still on its way keeps nobody
/// waiting: others go first, however long that takes.
Dispatcher::KeptWaiting Dispatcher::kept_waiting(const DispatchFunction& by,
                                                 MonotonicTime now) const {
  const DispatchFunction* oldest = nullptr;
  std::size_t seen = 0;
  for (const auto& [key, function] : waiting_) {
    if (++seen > functions_per_round) break;
    if (function->waiting.empty() || is_on_its_way(*function)) continue;
    oldest = function;
    break;
  }
  if (oldest == nullptr || oldest == &by) return {};
  const DispatchCall& call = oldest->waiting.front();
  const auto waited = now - call.call.accepted;
  const auto patience = call.is_short ? MonotonicTime::duration(patience_with_another_module)
                                      : MonotonicTime::duration(patience_with_short_calls);
  if (call.needs_clear_lane || waited < patience) return {};
  return {.function = oldest,
          .is_short = call.is_short,
          .is_long_ago = waited >= patience_with_short_calls};
}

/// Its module is being loaded, and is nowhere yet.
bool Dispatcher::is_on_its_way(const DispatchFunction& function) const {
  const auto is_loading = [&](const auto& place) { return place->is_loading(function.number); };
  const auto has_loaded = [&](const auto& place) { return place->has_loaded(function.number); };
  return std::ranges::any_of(places_, is_loading) && std::ranges::none_of(places_, has_loaded);
}

/// Where modules share a worker, short calls of one are sent behind those of another.
bool Dispatcher::is_awaited(const DispatchPlace& place, const KeptWaiting& waits) {
  if (waits.function == nullptr || place.is_loading(waits.function->number)) return false;
  if (!place.is_apart()) return !waits.is_short;
  return waits.is_long_ago || place.has_loaded(waits.function->number);
}

bool Dispatcher::is_waited_for(std::uint64_t number) {
  const DispatchFunction* function = find_function(number);
  return function != nullptr && !function->waiting.empty();
}

LaneView Dispatcher::view_of(const DispatchPlace& place, const DispatchFunction& function,
                             const KeptWaiting& waits, MonotonicTime now) {
  LaneView view;
  const std::uint64_t number = function.number;
  const DispatchLane* lane = place.lane_for(number);
  const DispatchLane* busy = place.busy();
  const auto wanted = [&](std::uint64_t other) { return other != number && is_waited_for(other); };
  view.usable = !place.leaving && !place.closed;
  if (lane == nullptr) {
    view.usable = view.usable && place.is_apart() && now >= place.claims_again &&
                  (!place.is_full() || place.least_recently_used(wanted) != nullptr);
  } else {
    const LaneEnd* end = lane->end().get();
    view.usable = view.usable && lane->phase() == LanePhase::ready && end != nullptr &&
                  !lane->full && !end->clogged();
    view.clear = end == nullptr || end->held == 0;
    view.loaded =
        view.usable && lane->codes().ready(number) != nullptr && lane->has(data_of_first(function));
  }
  view.may_load = !place.suspect;
  if (busy != nullptr) {
    const bool only_short = busy->long_calls == 0 && now - busy->front_since < overdue_short_call;
    view.in_flight = static_cast<unsigned>(busy->flights.size());
    view.flows = busy == lane && only_short;
    view.backlog = busy->backlog;
    view.soon = busy != lane && view.loaded && only_short && busy->backlog < comfortable_backlog;
  }
  view.awaited = is_awaited(place, waits);
  view.loading = place.is_loading(number) || (lane != nullptr && lane->is_attaching());
  view.loading_other = place.loads_any(wanted);
  view.promised = view.loading_other && !place.is_apart();
  return view;
}

void Dispatcher::view_places(const DispatchFunction& function, MonotonicTime now) {
  views_.clear();
  const KeptWaiting waits = kept_waiting(function, now);
  for (const auto& place : places_) views_.push_back(view_of(*place, function, waits, now));
}

/// False: the lane has no room for it now.
bool Dispatcher::send(DispatchLane& lane, DispatchCall& call, MonotonicTime now) {
  assert(lane.place().busy() == nullptr || lane.place().busy() == &lane);
  const auto* slot = lane.codes().ready(call.function->number);
  assert(slot != nullptr && lane.end());
  const auto left =
      std::max<std::chrono::nanoseconds>(call.call.deadline - now, std::chrono::nanoseconds{1});
  const transport::LaneCall told{.slot = slot->slot,
                                 .generation = slot->generation,
                                 .entry = call.call.entry,
                                 .deadline = left,
                                 .input = call.call.input.bytes};
  const auto request =
      call.call.data == nullptr
          ? lane.end()->client.send(told)
          : lane_client::send_with_data(lane.end()->client, told, call.call.data->ids);
  if (!request) {
    if (request.error().code == ErrorCode::no_capacity && !lane.flights.empty()) {
      lane.full = true;
      return false;
    }
    finish_failed(call, Outcome::bad_request, request.error().message);
    return true;
  }
  // Not before it has been published: then the worker is busy already.
  if (call.history.attempt == 0) {
    const auto waited = whole_microseconds(now - call.call.accepted);
    CallTimings& t = call.timings;
    t.place = ready_since_ > call.call.accepted
                  ? std::min(whole_microseconds(ready_since_ - call.call.accepted), waited)
                  : std::chrono::microseconds{0};
    t.compile = std::min(t.compile, waited - t.place);
    t.link = std::min(t.link, waited - t.place - t.compile);
    t.queue = waited - t.place - t.compile - t.link;
  }
  lane.called = true;
  lane.attach(call.call.data.get());  // it has all of it, and that was used now
  if (call.call.data != nullptr) lane.place().data_missed = {};
  if (lane.flights.empty()) lane.front_since = now;
  lane.flights.push(call, *request);
  use_up(lane.place(), call.call.version, now);
  const bool switches = lane.place().ran(lane);
  if (switches && options_.counts != nullptr) options_.counts->switches.add();
  sent_.splice(sent_.end(), *call.home, call.self);
  call.home = &sent_;
  call.lane = &lane;
  call.request = *request;
  lane.backlog += call.expected;
  if (!call.is_short) ++lane.long_calls;
  if (lane.last_version != call.call.version) lane.last_version = call.call.version;
  lane.trimmed = false;
  --waiting_count_;
  reindex(*call.function);
  deadlines_.move(call, call.call.deadline + lane_client::answer_grace);
  if (call.is_short) spin_until_ = now + (switches ? spin_time_of_sleeper : spin_time);
  return true;
}

/// Its place in the lane's books; the node itself is moved or removed by the caller.
void Dispatcher::leave_lane(DispatchCall& call) {
  DispatchLane& lane = *call.lane;
  lane.backlog -= call.expected;
  if (!call.is_short) --lane.long_calls;
}

/// Back to where it came from, before all that came later.
void Dispatcher::requeue(DispatchCall& call) {
  leave_lane(call);
  DispatchFunction& function = *call.function;
  auto before = function.waiting.begin();
  while (before != function.waiting.end() && before->number < call.number) ++before;
  function.waiting.splice(before, *call.home, call.self);
  call.home = &function.waiting;
  call.lane = nullptr;
  call.request = 0;
  ++waiting_count_;
  reindex(function);
  deadlines_.move(call, call.call.deadline);
}

}  // namespace orchid::gateway
