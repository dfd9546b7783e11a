// data/data_sparing.h: memory that is there when copies go of which there are enough elsewhere:
// only the gateway knows them.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>

#include "data/data_book.h"
#include "foundation/clock.h"
#include "foundation/token_bucket.h"
#include "protocol/control_messages.h"

namespace orchid::executor {

/// Owned by the agent's thread.
class DataSparing {
 public:
  /// Of the gateway. What waits then goes on without.
  static constexpr std::chrono::seconds answer_within{2};
  /// What rooms and leases of one tenant may ask: the gateway looks at all objects of this executor
  /// each time. More go on without.
  static constexpr TokenBucket::Rate questions_of_tenant{.per_second = 10, .burst = 32};

  /// `tell`: what the gateway is to hear. Both outlive it.
  DataSparing(const DataBook& book, std::function<void(const ControlMessage&)> tell);

  using Done = std::function<void()>;
  /// `done`: once, at once when it fits or nothing helps; else when the gateway has answered, and
  /// whatever it could spare has gone. It may still not fit.
  void make_room(const DataBook::Demand& demand, Done done);
  void obey(const DataSpared& message);
  /// A gateway has welcomed this executor. `spares_data`: it can be asked. `resumed`: it is the one
  /// that was asked before.
  void begin(bool spares_data, bool resumed);
  void tick(MonotonicTime now);
  /// Nothing waits any more, and nothing will.
  void end();

 private:
  struct Question {
    MonotonicTime due;
    Done done;
  };
  void go_on_without_answer();

  const DataBook& book_;
  std::function<void(const ControlMessage&)> tell_;
  bool spares_data_ = false;
  /// Begins anywhere: what a gateway says to another process of this executor is not for this one.
  std::uint64_t last_question_;
  std::map<std::uint64_t, Question> questions_;
  std::map<std::uint32_t, TokenBucket> tokens_;  // by uid
};

}  // namespace orchid::executor
