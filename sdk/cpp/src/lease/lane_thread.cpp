#include "lease/lane_thread.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <iterator>
#include <utility>

#include "lease/lease_core.h"

namespace orchid::sdk {
namespace {

constexpr std::uint64_t own_event = 0;
/// So long it spins for further answers before it arms a lane and sleeps.
constexpr std::chrono::microseconds linger_time{20};
/// So long it runs callbacks before it looks at the lanes again.
constexpr std::chrono::milliseconds callback_time{1};

/// The first of them, for as long as that is.
void run_some(std::deque<std::function<void()>>& tasks) {
  const auto start = std::chrono::steady_clock::now();
  while (!tasks.empty()) {
    std::exchange(tasks.front(), nullptr)();
    tasks.pop_front();
    if (std::chrono::steady_clock::now() - start >= callback_time) return;
  }
}

}  // namespace

LaneThread::LaneThread() : shared_(std::make_shared<Shared>()) {
  shared_->epoll = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
  shared_->wake_event = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  epoll_event event{.events = EPOLLIN, .data = {.u64 = own_event}};
  if (!shared_->epoll || !shared_->wake_event ||
      ::epoll_ctl(shared_->epoll.get(), EPOLL_CTL_ADD, shared_->wake_event.get(), &event) != 0)
    throw Error({.kind = ErrorKind::system,
                 .message = "no descriptors for the thread that looks after lanes",
                 .hint = "raise the limit of open files"});
  thread_ = std::thread([shared = shared_] { run(shared); });
}

LaneThread::~LaneThread() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->stopping = true;
  }
  wake();
  if (thread_.get_id() == std::this_thread::get_id())
    thread_.detach();  // a callback dropped the last lease; it ends by itself
  else
    thread_.join();
}

std::uint64_t LaneThread::watch(int descriptor, std::weak_ptr<const void> lease, WorkerLane& lane,
                                Events events) {
  std::uint64_t watch = 0;
  {
    const std::lock_guard lock(shared_->mutex);
    watch = shared_->next_watch++;
    shared_->watched.emplace(watch, Watched{std::move(lease), &lane});
  }
  // Edges: while another thread drives the lane, the descriptor may stay readable for long, and a
  // socket is writable nearly always: that comes only after it was full.
  epoll_event event{.events = EPOLLIN | EPOLLRDHUP | EPOLLET, .data = {.u64 = watch}};
  if (events == Events::both) event.events |= EPOLLOUT;
  if (events == Events::when_armed) event.events = EPOLLONESHOT;
  ::epoll_ctl(shared_->epoll.get(), EPOLL_CTL_ADD, descriptor, &event);
  return watch;
}

void LaneThread::arm(int descriptor, std::uint64_t watch) {
  epoll_event event{.events = EPOLLIN | EPOLLONESHOT, .data = {.u64 = watch}};
  ::epoll_ctl(shared_->epoll.get(), EPOLL_CTL_MOD, descriptor, &event);
}

void LaneThread::forget(int descriptor, std::uint64_t watch) {
  // Closing is not enough: the executor has the same eventfd open.
  ::epoll_ctl(shared_->epoll.get(), EPOLL_CTL_DEL, descriptor, nullptr);
  const std::lock_guard lock(shared_->mutex);
  shared_->watched.erase(watch);
}

void LaneThread::post(std::function<void()> task) {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->tasks.push_back(std::move(task));
  }
  wake();
}

void LaneThread::look_after(std::weak_ptr<LeaseCore> core) {
  const std::lock_guard lock(shared_->mutex);
  std::erase_if(shared_->cores, [](const auto& known) { return known.expired(); });
  shared_->cores.push_back(std::move(core));
}

void LaneThread::wake() {
  constexpr std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(shared_->wake_event.get(), &one, sizeof(one));
}

void LaneThread::run(const std::shared_ptr<Shared>& shared) {
  std::array<epoll_event, 64> events;
  std::deque<std::function<void()>> tasks;  // that are to be run now
  int timeout_ms = -1;
  bool stopping = false;
  while (!stopping || !tasks.empty()) {
    const int count = ::epoll_wait(shared->epoll.get(), events.data(), events.size(), timeout_ms);
    for (int i = 0; i < count; ++i) {
      const std::uint64_t watch = events[static_cast<std::size_t>(i)].data.u64;
      if (watch != own_event) {
        drive(*shared, watch);
      } else {
        std::uint64_t value = 0;
        [[maybe_unused]] const auto got = ::read(shared->wake_event.get(), &value, sizeof(value));
      }
    }
    {
      const std::lock_guard lock(shared->mutex);
      std::ranges::move(shared->tasks, std::back_inserter(tasks));
      shared->tasks.clear();
      stopping = shared->stopping;  // what was posted before still runs
    }
    // Before the callbacks, which may be slow: this offers the calls of a lost worker to others.
    timeout_ms = look_at_deadlines(*shared);
    if (tasks.empty()) continue;
    run_some(tasks);
    timeout_ms = 0;  // they may have started calls
  }
}

void LaneThread::drive(Shared& shared, std::uint64_t watch) {
  std::shared_ptr<const void> lease;
  WorkerLane* lane = nullptr;
  {
    const std::lock_guard lock(shared.mutex);
    const auto found = shared.watched.find(watch);
    if (found == shared.watched.end()) return;
    lease = found->second.lease.lock();
    lane = found->second.lane;
  }
  if (lease == nullptr) return;
  if (!lane->try_drive()) return lane->poke();
  lane->linger(linger_time);
  lane->leave();
}

int LaneThread::look_at_deadlines(Shared& shared) {
  std::vector<std::weak_ptr<LeaseCore>> cores;
  {
    const std::lock_guard lock(shared.mutex);
    cores = shared.cores;
  }
  const MonotonicTime now = std::chrono::steady_clock::now();
  MonotonicTime next = MonotonicTime::max();
  for (const auto& weak : cores)
    if (const auto core = weak.lock()) next = std::min(next, core->expire(now));
  if (next == MonotonicTime::max()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - now).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

}  // namespace orchid::sdk
