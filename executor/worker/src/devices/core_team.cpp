#include "devices/core_team.h"

#include <algorithm>
#include <chrono>
#include <new>

#include "foundation/cpu_pause.h"
#include "user_code/crash_report.h"

namespace orchid::executor {
namespace {

/// Longer than from one launch to the next of an entry that does little in between; the agent ends
/// workers that use time while nothing runs.
constexpr std::chrono::microseconds spin_time{20};
constexpr unsigned looks_per_clock = 64;

/// False: it was not so for as long as it spins.
template <typename Condition>
bool spin_until(std::uint64_t ticks, Condition condition) {
  const std::uint64_t start = ticks_now();
  do {
    for (unsigned look = 0; look < looks_per_clock; ++look) {
      if (condition()) return true;
      cpu_pause();
    }
  } while (ticks_since(start) < ticks);
  return false;
}

}  // namespace

CoreTeam::CoreTeam(const TickRate& rate) : spin_ticks_(rate.ticks(spin_time)) {}

void CoreTeam::resize(unsigned count) {
  if (count < size()) disband();
  try {
    while (size() < count && add_member()) {
    }
  } catch (const std::bad_alloc&) {  // the launch goes on with those that there are
  }
}

bool CoreTeam::add_member() {
  pthread_attr_t attributes;
  if (::pthread_attr_init(&attributes) != 0) return false;
  ::pthread_attr_setstacksize(&attributes, stack_bytes);
  members_.push_back(std::make_unique<Member>(*this));
  Member& member = *members_.back();
  const int error = ::pthread_create(&member.thread, &attributes, start, &member);
  ::pthread_attr_destroy(&attributes);
  if (error != 0) members_.pop_back();
  return error == 0;
}

void CoreTeam::disband() {
  if (members_.empty()) return;
  ends_.store(true, std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  for (const auto& member : members_) ::pthread_join(member->thread, nullptr);
  members_.clear();
  ends_.store(false, std::memory_order_relaxed);
}

void* CoreTeam::start(void* member) {
  auto& self = *static_cast<Member*>(member);
  use_signal_stack(self.signal_stack);
  self.team.serve();
  return nullptr;
}

void CoreTeam::serve() {
  std::uint32_t seen = 0;
  while (true) {
    await_round(seen);
    seen = round_.load(std::memory_order_acquire);
    if (ends_.load(std::memory_order_relaxed)) return;
    if (!enter()) continue;
    restore_flags();
    floating_point_.restore();
    work_->take_part();
    leave();
  }
}

void CoreTeam::await_round(std::uint32_t seen) const {
  const auto is_new = [&] { return round_.load(std::memory_order_relaxed) != seen; };
  if (!spin_until(spin_ticks_, is_new)) round_.wait(seen, std::memory_order_relaxed);
}

/// A member that wakes late finds the next work open, or none.
bool CoreTeam::enter() {
  std::uint32_t inside = inside_.load(std::memory_order_relaxed);
  do {
    if ((inside & open_bit) == 0) return false;
  } while (!inside_.compare_exchange_weak(inside, inside + 1, std::memory_order_acquire,
                                          std::memory_order_relaxed));
  return true;
}

void CoreTeam::leave() {
  if (inside_.fetch_sub(1, std::memory_order_release) == 1) inside_.notify_one();
}

void CoreTeam::open(Work& work) {
  work_ = &work;
  inside_.store(open_bit, std::memory_order_release);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
}

void CoreTeam::close() {
  inside_.fetch_and(~open_bit, std::memory_order_relaxed);
  const auto is_empty = [&] { return inside_.load(std::memory_order_acquire) == 0; };
  if (spin_until(spin_ticks_, is_empty)) return;
  for (auto inside = inside_.load(std::memory_order_acquire); inside != 0;
       inside = inside_.load(std::memory_order_acquire))
    inside_.wait(inside, std::memory_order_acquire);
}

}  // namespace orchid::executor
