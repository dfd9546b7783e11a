#include "data/file_closer.h"

#include <utility>

namespace orchid::executor {

FileCloser::~FileCloser() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void FileCloser::close(UniqueFd file) {
  {
    const std::lock_guard lock(mutex_);
    files_.push_back(std::move(file));
  }
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  changed_.notify_one();
}

bool FileCloser::idle() const {
  const std::lock_guard lock(mutex_);
  return files_.empty() && !closing_;
}

void FileCloser::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return over_ || !files_.empty(); });
    if (files_.empty()) return;
    std::vector<UniqueFd> taken = std::exchange(files_, {});
    closing_ = true;
    lock.unlock();
    taken.clear();
    lock.lock();
    closing_ = false;
  }
}

}  // namespace orchid::executor
