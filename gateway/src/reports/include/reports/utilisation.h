// reports/utilisation.h: looks at all hosts now and then, and tells what it saw.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "foundation/clock.h"
#include "foundation/task.h"
#include "leases/broker_loop.h"
#include "reports/utilisation_book.h"

namespace orchid::gateway {

/// Belongs to the control thread; `report` may be called on any thread. What it borrows outlives
/// it.
class Utilisation {
 public:
  using Done = std::function<void(std::string json)>;
  static constexpr std::chrono::milliseconds interval{10'000};
  static constexpr std::size_t most_samples = 2'880;  // 8 hours

  Utilisation(BrokerLoop& loop, const Clock& clock) : loop_(loop), clock_(clock) {}
  Utilisation(const Utilisation&) = delete;
  Utilisation& operator=(const Utilisation&) = delete;

  /// Control thread, several times a second: begins a sample when it is time for one.
  void tick();
  /// `done` is called on the thread of `reply_to`, with the samples after `since` (milliseconds
  /// since 1970), as GET /v1/utilisation says them.
  void report(std::int64_t since, Poster reply_to, Done done);

 private:
  struct Counting;
  void go_on(std::unique_ptr<Counting> counting);

  BrokerLoop& loop_;
  const Clock& clock_;
  UtilisationBook book_{most_samples};
  MonotonicTime next_{};
};

}  // namespace orchid::gateway
