// Of the workers that share a place of the gateway's: what they keep while they sleep, and their
// end for one another.
#include "foundation/log.h"
#include "lanes/lane_session.h"
#include "protocol/digest.h"

namespace orchid::executor {

std::optional<WarmWorker> LaneSession::look_at_sleep(MonotonicTime now) {
  if (over_ || worker_ == nullptr || worker_->kill_reason() != KillReason::none)
    return std::nullopt;
  if (worker_->awaits_client()) return std::nullopt;  // which takes the network's thread a while
  const std::uint64_t word = worker_->page().state.load(std::memory_order_acquire);
  const auto used = worker_->processor_time();
  if (used && sleep_.is_restless(word, worker_->link_work(), *used, now)) {
    if (worker_->said_last_words()) {
      worker_->hurry();
      return std::nullopt;
    }
    log::warn("event=worker_restless lease={} worker={} module={}", to_string(*lease_),
              worker_->id(), short_digest(module_));
    ++services_.counters["workers_restless"];
    worker_->kill(KillReason::restless);
    return std::nullopt;
  }
  // What uses no time keeps what it had.
  if (!used || *used != kept_.used)
    kept_ = {.used = used.value_or(std::chrono::nanoseconds{-1}), .memory = worker_->own_memory()};
  return WarmWorker{.memory = {kept_.memory.value + worker_->lane_memory().value},
                    .last_run = sleep_.last_run(),
                    .sleeps = sleep_.sleeps(now),
                    .runs_since = sleep_.runs_since()};
}

void LaneSession::end_intruder() {
  if (over_ || worker_ == nullptr) return;
  log::warn("event=workers_ran_together lease={} worker={} module={}", to_string(*lease_),
            worker_->id(), short_digest(module_));
  ++services_.counters["workers_ran_together"];
  worker_->kill(KillReason::together);
}

void LaneSession::give_way() {
  if (over_ || worker_ == nullptr) return;
  gave_way_ = true;
  log::info("event=worker_gave_way lease={} worker={} module={}", to_string(*lease_), worker_->id(),
            short_digest(module_));
  ++services_.counters["workers_gave_way"];
  worker_->kill(KillReason::gave_way);
}

}  // namespace orchid::executor
