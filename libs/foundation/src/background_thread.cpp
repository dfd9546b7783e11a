#include "foundation/background_thread.h"

#include <utility>

namespace orchid {

void BackgroundThread::finish() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void BackgroundThread::run(Task work) {
  std::unique_lock lock(mutex_);
  if (over_) {  // nobody else does it
    lock.unlock();
    return work();
  }
  queue_.push_back(std::move(work));
  if (!thread_.joinable()) thread_ = std::thread([this] { this->work(); });
  lock.unlock();
  changed_.notify_one();
}

bool BackgroundThread::idle() const {
  const std::lock_guard lock(mutex_);
  return queue_.empty() && !working_;
}

void BackgroundThread::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return over_ || !queue_.empty(); });
    if (queue_.empty()) return;
    Task next = std::move(queue_.front());
    queue_.pop_front();
    working_ = true;
    lock.unlock();
    next();
    next = nullptr;
    lock.lock();
    working_ = false;
  }
}

}  // namespace orchid
