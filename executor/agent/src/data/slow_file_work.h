// data/slow_file_work.h: what takes the kernel long with a large memory file, on a thread of its
// own. Sealing one looks at each of its pages, and the last close gives them back: tens of
// milliseconds for each GiB, too long for the agent's thread.
#pragma once
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "data/memory_file.h"
#include "foundation/result.h"
#include "foundation/task.h"
#include "foundation/unique_fd.h"

namespace orchid::executor {

/// Owned by the agent's thread. Its own thread owns nothing but what it is given, and begins with
/// the first of that. The destructor waits until all is done.
class SlowFileWork {
 public:
  using Sealed = std::function<void(Result<void>)>;
  /// `post`: to the agent's thread.
  explicit SlowFileWork(Poster post) : post_(std::move(post)) {}
  ~SlowFileWork();
  SlowFileWork(const SlowFileWork&) = delete;
  SlowFileWork& operator=(const SlowFileWork&) = delete;

  void close(MemoryFile file);
  /// `file`: one more descriptor of it. `done`: on the agent's thread, with the result of
  /// `MemoryFile::seal`.
  void seal(MemoryFile file, Sealed done);
  /// All that was given to it is done.
  [[nodiscard]] bool idle() const;

 private:
  struct Job {
    MemoryFile file;
    Sealed sealed;  // empty: it is to be closed
  };
  void add(Job job);
  void run();

  Poster post_;
  mutable std::mutex mutex_;  // of all below but the thread
  std::condition_variable changed_;
  std::vector<Job> jobs_;
  bool working_ = false;  // at some that were taken out of `jobs_`
  bool over_ = false;
  std::thread thread_;
};

}  // namespace orchid::executor
