#include "calls/concurrency_gate.h"

#include <utility>

namespace orchid::gateway {

std::shared_ptr<ConcurrencyGate> ConcurrencyGate::create(unsigned limit) {
  return std::shared_ptr<ConcurrencyGate>(new ConcurrencyGate(limit));
}

ConcurrencyGate::Place ConcurrencyGate::make_place() {
  // The pointer is to the gate itself; what counts is the end of its life.
  return {this, [gate = shared_from_this()](const void*) { gate->leave(); }};
}

ConcurrencyGate::Entry ConcurrencyGate::enter(Kind kind, Admitted admitted) {
  {
    const std::lock_guard lock(mutex_);
    auto& waiting = kind == Kind::synchronous ? synchronous_ : asynchronous_;
    const bool others =
        !synchronous_.empty() || (kind == Kind::asynchronous && !asynchronous_.empty());
    if (others || !has_room()) {
      waiting.push_back({next_ticket_, std::move(admitted)});
      return {.place = nullptr, .ticket = next_ticket_++};
    }
    ++inside_;
  }
  return {.place = make_place()};
}

void ConcurrencyGate::withdraw(std::uint64_t ticket) {
  const std::lock_guard lock(mutex_);
  for (auto* waiting : {&synchronous_, &asynchronous_})
    std::erase_if(*waiting, [ticket](const Waiting& w) { return w.ticket == ticket; });
}

bool ConcurrencyGate::is_crowded() const {
  const unsigned places = limit();
  if (places == 0) return false;
  const std::lock_guard lock(mutex_);
  return synchronous_.size() >= places * waiting_per_place;
}

std::optional<ConcurrencyGate::Admitted> ConcurrencyGate::next() {
  if (!has_room()) return std::nullopt;
  auto& waiting = synchronous_.empty() ? asynchronous_ : synchronous_;
  if (waiting.empty()) return std::nullopt;
  ++inside_;
  Admitted admitted = std::move(waiting.front().admitted);
  waiting.pop_front();
  return admitted;
}

void ConcurrencyGate::admit_waiting() {
  while (true) {
    std::optional<Admitted> admitted;
    {
      const std::lock_guard lock(mutex_);
      admitted = next();
    }
    if (!admitted) return;
    (*admitted)(make_place());
  }
}

void ConcurrencyGate::leave() {
  {
    const std::lock_guard lock(mutex_);
    --inside_;
  }
  admit_waiting();
}

void ConcurrencyGate::set_limit(unsigned limit) {
  limit_.store(limit, std::memory_order_relaxed);
  admit_waiting();
}

}  // namespace orchid::gateway
