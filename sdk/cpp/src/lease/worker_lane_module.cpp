// A lane of a lease of separate processes: its worker has one module at a time, and is replaced for
// another one, while no call is in the lane.
#include <chrono>
#include <utility>

#include "lease/worker_lane.h"
#include "protocol/lane_protocol.h"

namespace orchid::sdk {

std::uint32_t WorkerLane::claim_protocol() const {
  return is_separate() ? apart_lane_protocol : shared_lane_protocol;
}

/// Another worker is there: a fresh one, for the module that its predecessor went for, or for any.
void WorkerLane::open_seat() {
  if (!is_separate()) return;
  swaps_ = false;
  if (module_ == nullptr) board_.seat(*this, nullptr);
}

void WorkerLane::leave_seat() {
  if (!is_separate()) return;
  module_.reset();
  board_.leave_seat(*this);
}

/// Its module cannot be loaded.
void WorkerLane::give_up_module() {
  if (!is_separate()) return;
  module_.reset();
  board_.seat(*this, nullptr);
}

void WorkerLane::announce_module() {
  if (module_ != nullptr && codes_.announce(module_->number, module_)) tell_of(*module_);
}

void WorkerLane::pump_module() {
  while (conversation_.is_ready() && stream_ == nullptr && board_.wants_lanes()) {
    if (module_ != nullptr && codes_.ready(module_->number) == nullptr) return;  // it is coming
    auto next = board_.take_next(*this, module_.get(), flights_.empty(),
                                 [&](DirectCall& each) { return turn_in_queue(each); });
    attach_wanted();
    if (next.module != nullptr) return take_module(std::move(next.module));
    if (next.call == nullptr) return;
    if (!send(*next.call)) return board_.put_back(*next.call);
  }
}

/// The executor ends a worker that has another module, and brings a fresh one. No call is here:
/// none is lost.
void WorkerLane::take_module(std::shared_ptr<LeaseCode> module) {
  const bool swaps = std::exchange(module_, std::move(module)) != nullptr;
  if (!swaps) return announce();
  swaps_ = true;
  tell_of(*module_);
  (void)conversation_.give_up("it makes way for another module", std::chrono::steady_clock::now());
  detach();
  board_.watch_closely();
}

}  // namespace orchid::sdk
