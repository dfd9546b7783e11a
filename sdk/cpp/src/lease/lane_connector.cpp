#include "lease/lane_connector.h"

#include <utility>

namespace orchid::sdk {

LaneConnector::~LaneConnector() {
  std::deque<std::function<void()>> dropped;
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->stopping = true;
    dropped.swap(shared_->tasks);
    shared_->changed.notify_all();
  }
  for (std::thread& thread : threads_) {
    if (thread.get_id() == std::this_thread::get_id())
      thread.detach();  // its task dropped the last lease; it ends by itself
    else
      thread.join();
  }
}

void LaneConnector::post(std::function<void()> task) {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->stopping) return;
  shared_->tasks.push_back(std::move(task));
  if (shared_->idle < shared_->tasks.size() && threads_.size() < most_threads)
    threads_.emplace_back([shared = shared_] { run(shared); });
  else
    shared_->changed.notify_one();
}

void LaneConnector::run(const std::shared_ptr<Shared>& shared) {
  std::unique_lock lock(shared->mutex);
  while (true) {
    ++shared->idle;
    shared->changed.wait(lock, [&] { return shared->stopping || !shared->tasks.empty(); });
    --shared->idle;
    if (shared->stopping) return;
    auto task = std::move(shared->tasks.front());
    shared->tasks.pop_front();
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
  }
}

}  // namespace orchid::sdk
