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

void SlowFileWork::close(MemoryFile file) { add({.file = std::move(file), .sealed = {}}); }

void SlowFileWork::seal(MemoryFile file, Sealed done) {
  add({.file = std::move(file), .sealed = std::move(done)});
}

void SlowFileWork::add(Job job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  changed_.notify_one();
}

bool SlowFileWork::idle() const {
  const std::lock_guard lock(mutex_);
  return jobs_.empty() && !working_;
}

void SlowFileWork::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return over_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    std::vector<Job> taken = std::exchange(jobs_, {});
    working_ = true;
    lock.unlock();
    for (Job& job : taken)
      if (job.sealed)
        post_([done = std::move(job.sealed), result = job.file.seal()] { done(result); });
    taken.clear();
    lock.lock();
    working_ = false;
  }
}

}  // namespace orchid::executor
