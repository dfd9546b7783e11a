// data/slow_file_work.h: what takes the kernel long with a large memory file, on a thread of its
// own. Sealing one looks at each of its pages, and the last close gives them back: tens of
// milliseconds for each GiB, too long for the agent's thread.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

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
  /// Before all that is to be closed: somebody waits for it. `file`: one more descriptor of it.
  /// `done`: on the agent's thread, with the result of `MemoryFile::seal`.
  void seal(MemoryFile file, Sealed done);
  /// All that was given to it is done.
  [[nodiscard]] bool idle() const;

 private:
  struct Seal {
    MemoryFile file;
    Sealed done;
  };
  /// Wakes the thread for what has been queued.
  void begin();
  void run();

  Poster post_;
  mutable std::mutex mutex_;  // of all below but the thread
  std::condition_variable changed_;
  std::deque<Seal> seals_;
  std::deque<MemoryFile> closes_;
  bool working_ = false;  // at one that was taken out of these
  bool over_ = false;
  std::thread thread_;
};

}  // namespace orchid::executor
