// data/file_closer.h: closes memory files on a thread of its own. The last close of one gives its
// pages back, which takes 36 ms for each GiB: too long for the agent's thread.
#pragma once
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "foundation/unique_fd.h"

namespace orchid::executor {

/// Owned by the agent's thread. Its own thread owns nothing but the descriptors that it is given;
/// it begins with the first one. The destructor waits until all are closed.
class FileCloser {
 public:
  FileCloser() = default;
  ~FileCloser();
  FileCloser(const FileCloser&) = delete;
  FileCloser& operator=(const FileCloser&) = delete;

  void close(UniqueFd file);
  /// All that was given to it is closed.
  [[nodiscard]] bool idle() const;

 private:
  void run();

  mutable std::mutex mutex_;  // of all below but the thread
  std::condition_variable changed_;
  std::vector<UniqueFd> files_;
  bool closing_ = false;  // some that were taken out of `files_`
  bool over_ = false;
  std::thread thread_;
};

}  // namespace orchid::executor
