// functions/neighbour_watch.h: threads that call an innocent function all the time, and look at
// each of its answers.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "orchid/client.h"

namespace orchid::tests {

/// Its threads end with it. `take` and `wait_for_more` are for one thread, the test's.
class NeighbourWatch {
 public:
  /// The function is deployed as "neighbour". What it answers now is what it has to answer later.
  /// Throws orchid::Error when it does not.
  NeighbourWatch(Client& client, unsigned threads);

  struct Seen {
    std::vector<std::chrono::microseconds> calls;  // how long each took
    std::vector<std::string> wrong;  // what was answered, or told, in place of the answer
  };
  /// Since the last time.
  [[nodiscard]] Seen take();
  /// Until each thread has begun and ended so many calls more; false: not within `patience`.
  [[nodiscard]] bool wait_for_more(unsigned calls, std::chrono::seconds patience);
  /// While it is paused no thread calls.
  void pause(bool paused);

 private:
  struct Caller {
    std::atomic<std::uint64_t> ended = 0;
    std::atomic<bool> calling = false;
  };
  void call_until_stopped(const std::stop_token& stop, Caller& caller);
  void call_once(int number);
  Client& client_;
  std::vector<std::string> answers_;  // to the numbers from 0 on
  std::mutex mutex_;
  Seen seen_;
  std::atomic<bool> paused_ = false;
  std::vector<Caller> callers_;
  std::vector<std::jthread> threads_;  // last: they use all of the above
};

}  // namespace orchid::tests
