// work_queue.h: the queue of the fake GPU: a thread that does one thing after the other, and has a
// clock of its own.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>

namespace fake_cuda {

/// What a kernel was found to be, and what it has to do.
struct KernelWork {
  using Twin = void (*)(const void* args, std::uint64_t begin, std::uint64_t end);
  Twin twin = nullptr;
  const void* args = nullptr;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};
/// Runs it; false: it has touched memory that is not there.
[[nodiscard]] bool run_guarded(const KernelWork& work);

class WorkQueue {
 public:
  void start();
  void add(std::function<void()> work);
  /// Until nothing is left to do; never, when something does not end. Any other thread.
  void wait_for_all();
  /// From within work: so much time goes by, on the queue's clock, and on ours.
  void pass(std::chrono::nanoseconds time);
  /// The same for what has taken that long already.
  void count(std::chrono::nanoseconds time) { now_ += time; }
  [[nodiscard]] std::chrono::nanoseconds now() const { return now_; }
  /// The error that has ended the context; 0: none.
  [[nodiscard]] int error() const { return error_.load(); }
  void fail(int error) { error_.store(error); }

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable idle_;
  std::deque<std::function<void()>> waiting_;
  bool at_work_ = false;
  std::atomic<int> error_{0};
  std::chrono::nanoseconds now_{0};  // of the queue's thread
};

}  // namespace fake_cuda
