// The modules of a worker: which it has, which it loads, and why one cannot be loaded.
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <utility>

#include "foundation/log.h"
#include "protocol/digest.h"
#include "protocol/limits.h"
#include "workers/worker_process.h"

namespace orchid::executor {

const WorkerSlot* WorkerProcess::find_slot(const std::string& digest) {
  const auto found = slots_.find(digest);
  if (found == slots_.end()) return nullptr;
  found->second.last_use = ++uses_;
  return &found->second;
}

std::size_t WorkerProcess::count(bool kept) const {
  const auto is_such = [kept](const auto& entry) { return entry.second.kept == kept; };
  return static_cast<std::size_t>(std::ranges::count_if(slots_, is_such) +
                                  std::ranges::count_if(loads_, is_such));
}

/// What is kept takes no room from what its client loads, and is not dropped for that.
WorkerProcess::Choice WorkerProcess::choose_slot(bool kept) {
  if (!free_slots_.empty()) {
    const std::uint32_t slot = free_slots_.back();
    free_slots_.pop_back();
    return {.slot = slot};
  }
  if (kept || count(false) < modules_per_worker) return {.slot = next_slot_++};
  const auto oldest = std::ranges::min_element(
      slots_, {}, [](const auto& s) { return std::pair(s.second.kept, s.second.last_use); });
  if (oldest == slots_.end() || oldest->second.kept) return {.slot = next_slot_++};
  const std::uint32_t slot = oldest->second.slot;
  tell(Unload{slot});
  slots_.erase(oldest);
  return {.slot = slot, .replaces = true};
}

WorkerProcess::Place WorkerProcess::add_load(const LoadRequest& request, LoadDone done) {
  const Choice choice = choose_slot(request.kept);
  const Place place{.slot = choice.slot, .generation = next_generation_++};
  loads_.emplace(place.generation, PendingLoad{request.digest, request.tier, place.slot,
                                               place.generation, place.generation == 1, request.due,
                                               request.kept, choice.replaces, std::move(done)});
  return place;
}

const WorkerProcess::PendingLoad* WorkerProcess::find_load(const std::string& digest) const {
  const auto asked = std::ranges::find_if(loads_, [&](const auto& load) {
    return load.second.digest == digest && !load.second.replaces;
  });
  return asked == loads_.end() ? nullptr : &asked->second;
}

WorkerProcess::Place WorkerProcess::expect(const LoadRequest& request, LoadDone done) {
  if (request.kept) keep(request.digest);
  if (const WorkerSlot* const has = find_slot(request.digest))
    return {.slot = has->slot, .generation = has->generation};
  if (const PendingLoad* const asked = find_load(request.digest))
    return {.slot = asked->slot, .generation = asked->generation};
  return add_load(request, std::move(done));
}

bool WorkerProcess::keep(const std::string& digest) {
  const auto has = slots_.find(digest);
  if (has != slots_.end()) has->second.kept = true;
  bool found = has != slots_.end();
  for (auto& [generation, load] : loads_) {
    if (load.digest != digest) continue;
    load.kept = true;
    found = true;
  }
  return found;
}

bool WorkerProcess::keeps(const std::string& digest) const {
  const auto has = slots_.find(digest);
  return (has != slots_.end() && has->second.kept) ||
         std::ranges::any_of(loads_, [&](const auto& load) {
           return load.second.digest == digest && load.second.kept;
         });
}

void WorkerProcess::load(const LoadRequest& request, LoadDone done) {
  const Place place = add_load(request, std::move(done));
  tell(Load{.slot = place.slot,
            .generation = place.generation,
            .quick = request.tier == CompileTier::quick,
            .first = place.generation == 1,
            .on_gpu = request.on_gpu,
            .digest = request.digest},
       {request.code});
}

bool WorkerProcess::is_loading(const std::string& digest) const {
  return std::ranges::any_of(loads_,
                             [&](const auto& load) { return load.second.digest == digest; });
}

std::optional<LoadLimit> WorkerProcess::load_limit(MonotonicTime since, MonotonicTime now) const {
  if (!is_linking()) return std::nullopt;
  // It loads nothing any more.
  if (has_time_to_end(since, now)) return std::nullopt;
  if (loads_.empty())
    return now - since >= limits::load_time ? std::optional(LoadLimit::standard) : std::nullopt;
  const PendingLoad& load = loads_.begin()->second;
  const bool others_wait = !slots_.empty() || loads_.size() > 1;
  if (load.due && now >= *load.due) return LoadLimit::deadline;
  if (others_wait && now - since >= limits::load_time_before_others) return LoadLimit::others;
  if (!load.due && now - since >= limits::load_time) return LoadLimit::standard;
  return std::nullopt;
}

void WorkerProcess::end_load(LoadLimit limit) {
  load_limit_ = limit;
  if (loads_.empty())
    kill_words_ =
        fmt::format("the worker did not map or unmap its data within {} s; it was replaced",
                    limits::load_time.count());
  kill(KillReason::load);
}

void WorkerProcess::improve(const std::string& digest, int code) {
  const auto found = slots_.find(digest);
  if (found == slots_.end() || found->second.tier != CompileTier::quick) return;
  found->second.tier = CompileTier::o3;
  improvements_.emplace(found->second.slot, digest);
  tell(Improve{found->second.slot, found->second.generation}, {code});
}

bool WorkerProcess::take_answer(const WorkerMessage& message) {
  if (data_.take_answer(message)) return true;
  const auto* improved = std::get_if<Improved>(&message);
  if (improved == nullptr) return answer_load(message);
  const auto first = improvements_.lower_bound(improved->slot);  // it answers in their order
  if (first == improvements_.end() || first->first != improved->slot) return false;
  const auto answered = improvements_.extract(first);
  ++improvements_answered_;
  if (!improved->message.empty())
    log::warn("event=code_not_improved worker={} module={} reason=\"{}\"", id_,
              short_digest(answered.mapped()), improved->message);
  return true;
}

bool WorkerProcess::answer_load(const WorkerMessage& message) {
  const auto* loaded = std::get_if<Loaded>(&message);
  const auto* failed = std::get_if<LoadFailed>(&message);
  if (loaded == nullptr && failed == nullptr) return false;
  const auto found = std::ranges::find(loads_, loaded != nullptr ? loaded->slot : failed->slot,
                                       [](const auto& load) { return load.second.slot; });
  if (found == loads_.end()) return false;
  auto pending = loads_.extract(found);
  ++loads_answered_;
  load_failed_ = load_failed_ || failed != nullptr;
  const auto known = slots_.find(pending.mapped().digest);
  if (loaded != nullptr && known != slots_.end()) {
    // A call has made the same meanwhile, in another place: calls go on there.
    tell(Unload{loaded->slot});
    pending.mapped().done(known->second, std::chrono::microseconds(loaded->link_us));
  } else if (loaded != nullptr) {
    WorkerSlot slot{loaded->slot, loaded->generation,    loaded->entries,
                    ++uses_,      pending.mapped().tier, pending.mapped().kept};
    slots_[pending.mapped().digest] = slot;
    pending.mapped().done(std::move(slot), std::chrono::microseconds(loaded->link_us));
  } else {
    free_slots_.push_back(failed->slot);
    const auto blame =
        pending.mapped().first ? LoadFailure::Blame::module : LoadFailure::Blame::worker;
    pending.mapped().done(
        std::unexpected(LoadFailure{blame, {ErrorCode::module_rejected, failed->message}}), {});
  }
  return true;
}

void WorkerProcess::fail_loads(const ChildEvent& event, const std::string& why) {
  bool begun = true;  // the worker was at the first; the others it had not looked at
  for (auto& [generation, pending] : std::exchange(loads_, {})) {
    LoadFailure failure{
        LoadFailure::Blame::worker,
        {ErrorCode::unreachable, "the worker was lost before it could load the module"}};
    if (std::exchange(begun, false)) failure = failure_of(pending, event, why);
    pending.done(std::unexpected(std::move(failure)), {});
  }
}

/// Only what the module's own code did in a worker of its own is its fault. A kill from outside, or
/// what an earlier call left behind, is worth another try.
LoadFailure WorkerProcess::failure_of(const PendingLoad& load, const ChildEvent& event,
                                      const std::string& why) const {
  using Blame = LoadFailure::Blame;
  const auto words = static_cast<LastWords>(page().last_words.load());
  const Blame its_own = load.first ? Blame::module : Blame::worker;
  constexpr const char* question = "does a static initialiser not end?";
  if (kill_reason_ == KillReason::load && load_limit_ == LoadLimit::deadline)
    return {Blame::deadline,
            {ErrorCode::timed_out,
             fmt::format("the deadline passed while the module was loaded: {}", question)}};
  if (kill_reason_ == KillReason::load && load_limit_ == LoadLimit::others)
    return {load.first ? Blame::others : Blame::worker,
            {ErrorCode::module_rejected,
             fmt::format("loading the module took longer than {} ms while other functions waited "
                         "for its worker: {}",
                         limits::load_time_before_others.count(), question)}};
  if (kill_reason_ == KillReason::load)
    return {its_own,
            {ErrorCode::module_rejected, fmt::format("loading the module took longer than {} s: {}",
                                                     limits::load_time.count(), question)}};
  // Nobody but its own code ends a process so, whatever it says; only a lane to another host
  // breaks.
  const bool from_outside = event.kind == ChildEvent::Kind::killed && event.value == SIGKILL;
  const bool lane_broke = remote_lane_.port != 0 && words == LastWords::failed;
  const bool by_itself = kill_reason_ == KillReason::none && !from_outside && !lane_broke;
  if (by_itself || kill_reason_ == KillReason::nonsense)
    return {its_own, {ErrorCode::module_rejected, "loading the module ended the worker: " + why}};
  return {Blame::worker,
          {ErrorCode::unreachable, "the worker was lost while it loaded the module"}};
}

}  // namespace orchid::executor
