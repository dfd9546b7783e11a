#include "data/slow_file_work.h"

#include <utility>

namespace orchid::executor {

SlowFileWork::~SlowFileWork() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void SlowFileWork::close(MemoryFile file) {
  {
    const std::lock_guard lock(mutex_);
    closes_.push_back(std::move(file));
  }
  begin();
}

void SlowFileWork::seal(MemoryFile file, Sealed done) {
  {
    const std::lock_guard lock(mutex_);
    seals_.push_back({.file = std::move(file), .done = std::move(done)});
  }
  begin();
}

void SlowFileWork::begin() {
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  changed_.notify_one();
}

bool SlowFileWork::idle() const {
  const std::lock_guard lock(mutex_);
  return seals_.empty() && closes_.empty() && !working_;
}

void SlowFileWork::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return over_ || !seals_.empty() || !closes_.empty(); });
    if (seals_.empty() && closes_.empty()) return;
    working_ = true;
    if (!seals_.empty()) {
      Seal seal = std::move(seals_.front());
      seals_.pop_front();
      lock.unlock();
      post_([done = std::move(seal.done), result = seal.file.seal()] { done(result); });
    } else {
      const MemoryFile file = std::move(closes_.front());
      closes_.pop_front();
      lock.unlock();
    }
    lock.lock();
    working_ = false;
  }
}

}  // namespace orchid::executor
