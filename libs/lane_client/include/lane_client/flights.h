// lane_client/flights.h: the calls in a lane, in the order in which the worker takes and answers
// them. It runs one at a time, so only the oldest can have been started.
#pragma once
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "lane_client/policy.h"
#include "protocol/lane_messages.h"

namespace orchid::lane_client {

/// Owned by who drives the lane; borrows the calls, of which it needs a `CallHistory history`.
template <typename Call>
class Flights {
 public:
  static constexpr std::size_t limit = 256;  // a lane takes 255

  [[nodiscard]] bool empty() const { return head_ == tail_; }
  [[nodiscard]] std::size_t size() const { return tail_ - head_; }
  /// Counts all calls that have left at the front.
  [[nodiscard]] std::uint64_t head() const { return head_; }
  /// Null: nobody wants its answer.
  [[nodiscard]] Call* front() const { return empty() ? nullptr : at(head_).call; }
  /// 0: the lane is empty.
  [[nodiscard]] std::uint64_t front_request() const { return empty() ? 0 : at(head_).request; }

  void push(Call& call, std::uint64_t request) {
    assert(size() < limit);
    ++call.history.attempt;
    at(tail_++) = {.call = &call, .request = request};
  }
  /// An entry of a stream, which has the lane for itself: its answer is the stream's.
  void push_entry(std::uint64_t request) {
    at(tail_++) = {.request = request, .cancel_sent = true};
  }
  /// The oldest one is answered. Null: nobody wants the answer.
  [[nodiscard]] Call* pop() { return at(head_++).call; }
  /// The request that the executor is to be told to cancel now; 0: none. A call that nobody wants
  /// is cancelled when it becomes the oldest, since it holds up those behind it.
  [[nodiscard]] std::uint64_t take_cancel() {
    if (empty()) return 0;
    Flight& oldest = at(head_);
    const bool unwanted = oldest.call == nullptr || oldest.call->history.cancelled;
    if (!unwanted || std::exchange(oldest.cancel_sent, true)) return 0;
    return oldest.request;
  }
  /// Its caller has been told already. Its place stays until the worker comes to it.
  void drop(const Call& call) {
    for (std::uint64_t i = head_; i < tail_; ++i)
      if (at(i).call == &call) at(i).call = nullptr;
  }
  /// In their order. `each` may drop the one that it is given.
  template <typename Each>
  void for_each(Each each) {
    for (std::uint64_t i = head_; i < tail_; ++i)
      if (Call* call = at(i).call) each(*call);
  }
  /// Those behind the oldest one, from the back, so that they wait in their old order. Their copies
  /// in the lane run some day, and nobody looks at what they answer. `again` says for each whether
  /// it waits again.
  template <typename Again>
  void take_back(Again again) {
    for (std::uint64_t i = tail_; i > head_ + 1; --i)
      if (Call* call = at(i - 1).call; call != nullptr && again(*call)) at(i - 1).call = nullptr;
  }

  /// The worker has ended. Takes all calls out, from the back, so that they wait in their old
  /// order: `each(call, named, ended)`, as for `judge`.
  template <typename Each>
  void end(LaneEnded ended, Each each) {
    doubt(ended);
    while (!empty()) {
      const Flight flight = at(--tail_);
      if (flight.call != nullptr)
        each(*flight.call, ended.started && flight.request == ended.request, std::as_const(ended));
    }
  }

 private:
  struct Flight {
    Call* call = nullptr;
    std::uint64_t request = 0;
    bool cancel_sent = false;
  };
  [[nodiscard]] Flight& at(std::uint64_t index) { return flights_[index % limit]; }
  [[nodiscard]] const Flight& at(std::uint64_t index) const { return flights_[index % limit]; }

  /// Evictions are the executor's doing, and neither call nor function has to do with them.
  void doubt(LaneEnded& ended) {
    Call* const oldest = front();
    if (oldest == nullptr || ended.outcome == Outcome::evicted) return;
    if (ended.started && ended.request == front_request()) return;
    if (++oldest->history.denials % most_denials != 0) return;
    ended.request = front_request();
    ended.started = true;
    ended.message = "its workers ended one after the other: " + ended.message;
  }

  std::array<Flight, limit> flights_{};
  std::uint64_t head_ = 0;
  std::uint64_t tail_ = 0;
};

}  // namespace orchid::lane_client
