// foundation/background_log.h: log lines are written by a thread of their own.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

namespace orchid::log {

/// For as long as one lives, nobody who logs in this process waits for the disk or for whoever
/// reads standard error: a file system that is busy takes seconds for a line, and a pipe that
/// nobody reads takes it never. Lines keep their order. What does not fit into `most_bytes` is not
/// logged, and how many lines that were is. One at a time, for the main function of a program whose
/// threads must not wait; made before and destroyed after all threads that log. Lines of a process
/// that is killed may be lost.
class BackgroundLog {
 public:
  static constexpr std::size_t most_bytes = 1 << 20;
  /// At the end lines are written for so long at most, when nobody takes them.
  static constexpr std::chrono::milliseconds patience{1'000};
  /// `file`: stays open while this lives.
  explicit BackgroundLog(int file);
  ~BackgroundLog();
  BackgroundLog(const BackgroundLog&) = delete;
  BackgroundLog& operator=(const BackgroundLog&) = delete;

  /// Any thread. False: nobody writes for this process; a child has none of its parent's threads.
  static bool write(std::string& line);

 private:
  void add(std::string line);
  void work();
  [[nodiscard]] bool put(const std::string& line);
  [[nodiscard]] bool is_writable();

  int file_;
  pid_t process_;
  std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  std::deque<std::string> lines_;
  std::size_t bytes_ = 0;  // of these
  std::size_t lost_ = 0;   // lines, of which nobody was told yet
  bool over_ = false;
  std::chrono::steady_clock::time_point give_up_;  // once it is over
  std::thread thread_;
};

}  // namespace orchid::log
