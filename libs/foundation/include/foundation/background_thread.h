// foundation/background_thread.h: a thread for what would keep another one for too long.
#pragma once
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "foundation/task.h"

namespace orchid {

/// Does one piece of work after the other. Callable on any thread; the thread begins with the first
/// work. Work does not throw, and what it owns is destroyed there as well.
class BackgroundThread {
 public:
  BackgroundThread() = default;
  ~BackgroundThread() { finish(); }
  BackgroundThread(const BackgroundThread&) = delete;
  BackgroundThread& operator=(const BackgroundThread&) = delete;

  void run(Task work);
  /// All that was given to it is done.
  [[nodiscard]] bool idle() const;
  /// Waits for that, and ends the thread: work that comes later is done by whoever brings it. Not
  /// while others bring some.
  void finish();

 private:
  void work();

  mutable std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  std::deque<Task> queue_;
  bool working_ = false;  // at one that was taken out of it
  bool over_ = false;     // no more is queued
  std::thread thread_;
};

}  // namespace orchid
