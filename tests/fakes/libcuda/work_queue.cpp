#include "work_queue.h"

#include <csetjmp>
#include <csignal>
#include <thread>
#include <utility>

namespace fake_cuda {
namespace {

/// Of the queue's thread, while a kernel runs there.
thread_local sigjmp_buf way_out;
thread_local bool is_running = false;

extern "C" void on_fault(int number) {
  if (is_running) siglongjmp(way_out, 1);
  std::signal(number, SIG_DFL);
}

}  // namespace

bool run_guarded(const KernelWork& work) {
  is_running = true;
  const bool whole = sigsetjmp(way_out, 1) == 0;
  if (whole) work.twin(work.args, work.begin, work.end);
  is_running = false;
  return whole;
}

void WorkQueue::start() {
  struct sigaction action{};
  action.sa_handler = on_fault;
  ::sigaction(SIGSEGV, &action, nullptr);
  ::sigaction(SIGBUS, &action, nullptr);
  // As a real driver's threads it ends with the process.
  std::thread([this] { run(); }).detach();
}

void WorkQueue::add(std::function<void()> work) {
  {
    const std::scoped_lock lock(mutex_);
    waiting_.push_back(std::move(work));
  }
  changed_.notify_one();
}

void WorkQueue::wait_for_all() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return waiting_.empty() && !at_work_; });
}

void WorkQueue::pass(std::chrono::nanoseconds time) {
  std::this_thread::sleep_for(time);
  now_ += time;
}

void WorkQueue::run() {
  while (true) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !waiting_.empty(); });
    const auto work = std::move(waiting_.front());
    waiting_.pop_front();
    at_work_ = true;
    lock.unlock();
    if (error() == 0) work();
    lock.lock();
    at_work_ = false;
    if (waiting_.empty()) idle_.notify_all();
  }
}

}  // namespace fake_cuda
