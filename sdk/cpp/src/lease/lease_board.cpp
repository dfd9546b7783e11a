#include "lease/lease_board.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "http/problem.h"
#include "lane_client/policy.h"
#include "lease/call_batch.h"
#include "lease/call_objects.h"
#include "lease/lease_threads.h"

namespace orchid::sdk {
namespace {

constexpr std::chrono::microseconds spin_alone{2};
constexpr std::chrono::microseconds adaptive_spin{30};
constexpr std::chrono::milliseconds socket_interval{1};
constexpr std::chrono::seconds longest_load{60};
/// So long after a worker was lost the gateway is asked often whether there is another. It knows a
/// host to be lost after half a minute or so.
constexpr std::chrono::seconds longest_search{90};

/// For people, to a tenth.
std::string seconds_since(MonotonicTime start) {
  const auto tenths = (std::chrono::steady_clock::now() - start) / std::chrono::milliseconds(100);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

template <typename Word>
void futex_wait(std::atomic<Word>& word, Word value, MonotonicTime until) {
  const auto time = until.time_since_epoch();
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  const timespec absolute{.tv_sec = seconds.count(), .tv_nsec = (time - seconds).count()};
  ::syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, value, &absolute, nullptr,
            FUTEX_BITSET_MATCH_ANY);
}

template <typename Word>
void futex_wake(std::atomic<Word>& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, std::numeric_limits<int>::max(), nullptr, nullptr,
            0);
}

}  // namespace

LeaseBoard::LeaseBoard(LeaseOptions options, std::shared_ptr<LeaseThreads> threads,
                       const TickRate& rate)
    : options_(std::move(options)),
      rate_(rate),
      ticks_{.alone = rate_.ticks(spin_alone),
             .spin = options_.wait == Wait::blocking ? 0 : rate_.ticks(adaptive_spin),
             .socket = rate_.ticks(socket_interval)},
      threads_(std::move(threads)) {}

std::shared_ptr<LeaseThreads> LeaseBoard::threads() const {
  const std::lock_guard lock(mutex_);
  return threads_;
}

void LeaseBoard::drop_threads() {
  std::shared_ptr<LeaseThreads> threads;  // ended outside of the lock
  const std::lock_guard lock(mutex_);
  threads.swap(threads_);
}

/// Why a call is not to wait in the queue. Under the lock.
std::optional<Error::Details> LeaseBoard::refusal_of(const DirectCall& call) const {
  if (end_) return end_;
  if (call.cancel_wanted.load())
    return Error::Details{.kind = ErrorKind::cancelled, .message = "the call was cancelled"};
  if (call.given_up.load())
    return Error::Details{.kind = ErrorKind::deadline_exceeded,
                          .message = "the call's deadline has passed"};
  if (call.code->rejected) return call.code->rejected;
  return std::nullopt;
}

bool LeaseBoard::queue(DirectCall& call, Place place) {
  call.fix_due(std::chrono::steady_clock::now());
  std::optional<Error::Details> refused;
  {
    const std::lock_guard lock(mutex_);
    refused = refusal_of(call);
    if (!refused) {
      if (call.batch != nullptr) CallBatch::keep_input(call);
      call.lane.store(nullptr, std::memory_order_release);
      place == Place::first ? queue_.push_front(call) : queue_.push(call);
      waiting_.fetch_add(1);
      queue_version_.fetch_add(1);
      return true;
    }
  }
  finish_with(call, std::move(*refused));
  return false;
}

bool LeaseBoard::remove_waiting(DirectCall& call) {
  const std::lock_guard lock(mutex_);
  if (!queue_.remove(call)) return false;
  waiting_.fetch_sub(1);
  return true;
}

Error::Details LeaseBoard::why_late(const DirectCall& call) const {
  const std::lock_guard lock(mutex_);
  // Where a worker has its code, it has waited for that one.
  if (call.code->compiling > 0 && call.code->ready == 0)
    return {
        .kind = ErrorKind::deadline_exceeded,
        .message = "the call's deadline has passed: it waited for a compiler for " +
                   seconds_since(std::max(call.code->compiling_since, call.due - call.deadline)) +
                   ", and the function is not compiled yet on the worker's host",
        .hint = "give it more time"};
  if (call.waits_for_data)
    return {.kind = ErrorKind::deadline_exceeded,
            .message = "the call's deadline has passed: it waited until a worker had " +
                       call.data->labels(),
            .hint =
                "give it more time; 'orchid data describe' shows where it is, and to which "
                "hosts it is being copied"};
  return {.kind = ErrorKind::deadline_exceeded,
          .message = "the call's deadline has passed before it started",
          .hint = "give it more time, or take more workers"};
}

void LeaseBoard::park(DirectCall& call, MonotonicTime until) {
  auto pending = DirectCall::State::pending;
  if (call.state.compare_exchange_strong(pending, DirectCall::State::parked) ||
      pending == DirectCall::State::parked)
    futex_wait(call.state, DirectCall::State::parked, until);
}

void LeaseBoard::finish_with(DirectCall& call, Error::Details why) {
  if (why.attempt == 0) why.attempt = call.history.attempt;
  call.error = std::make_unique<Error::Details>(std::move(why));
  finish(call);
}

void LeaseBoard::finish(DirectCall& call) {
  if (call.async != nullptr) return finish_async(*call.async);
  CallBatch* const batch = call.batch;
  // From this exchange on the call may be gone; its address still names those who wait for it.
  const auto before = call.state.exchange(DirectCall::State::done);
  if (before == DirectCall::State::parked) futex_wake(call.state);
  if (batch == nullptr) return;
  if (before == DirectCall::State::abandoned) return batch->drop();
  batch_results_.fetch_add(1);
  if (batch_sleepers_.load() != 0) futex_wake(batch_results_);
}

void LeaseBoard::wait_for_batch_results(std::uint32_t seen, MonotonicTime until) {
  batch_sleepers_.fetch_add(1);
  futex_wait(batch_results_, seen, until);
  batch_sleepers_.fetch_sub(1);
}

void LeaseBoard::wake_batch_waiters() {
  batch_results_.fetch_add(1);
  futex_wake(batch_results_);
}

void LeaseBoard::list(AsyncCall& async) {
  bool wakes = false;
  {
    const std::lock_guard lock(mutex_);
    async.listed = asynchronous_.insert(asynchronous_.end(), &async);
    const auto due = async.call.due.time_since_epoch().count();
    if (due < next_due_.load()) {
      next_due_.store(due);
      wakes = true;
    }
  }
  if (wakes)
    if (const auto lease_threads = threads()) lease_threads->lanes.wake();
}

std::vector<std::shared_ptr<AsyncCall>> LeaseBoard::take_late(MonotonicTime now,
                                                              MonotonicTime& next) {
  next = MonotonicTime{MonotonicTime::duration(next_due_.load())};
  std::vector<std::shared_ptr<AsyncCall>> late;
  if (now < next) return late;
  next = MonotonicTime::max();
  const std::lock_guard lock(mutex_);
  for (AsyncCall* async : asynchronous_) {
    if (async->call.due > now) {
      next = std::min(next, async->call.due);
    } else {
      next = std::min(next, now + offer_interval);
      late.push_back(async->shared_from_this());
    }
  }
  next_due_.store(next.time_since_epoch().count());
  return late;
}

void LeaseBoard::finish_async(AsyncCall& async) {
  const std::shared_ptr<AsyncCall> keep = std::move(async.in_flight);
  {
    const std::lock_guard lock(mutex_);
    asynchronous_.erase(async.listed);
  }
  async.home.reset();
  std::vector<std::function<void()>> continuations;
  {
    const std::lock_guard lock(async.mutex);
    if (async.call.state.exchange(DirectCall::State::done) == DirectCall::State::parked)
      futex_wake(async.call.state);
    continuations.swap(async.continuations);
  }
  if (continuations.empty()) return;
  if (const auto lease_threads = threads())
    for (auto& continuation : continuations) lease_threads->lanes.post(std::move(continuation));
}

void LeaseBoard::tell_room_waiters() {
  const std::lock_guard lock(room_mutex_);
  lane_left_.notify_all();
}

std::vector<std::shared_ptr<LeaseCode>> LeaseBoard::codes() const {
  const std::lock_guard lock(mutex_);
  return codes_;
}

std::shared_ptr<LeaseCode> LeaseBoard::add_code(std::string digest, std::string function,
                                                UniqueFd module) {
  const std::lock_guard lock(mutex_);
  if (end_) throw Error(*end_);
  const auto found = std::ranges::find(codes_, digest, &LeaseCode::digest);
  if (found != codes_.end()) {
    if (!(*found)->module) (*found)->module = std::move(module);
    return *found;
  }
  auto code = std::make_shared<LeaseCode>();
  code->number = static_cast<unsigned>(codes_.size());
  code->digest = std::move(digest);
  code->function = std::move(function);
  code->module = std::move(module);
  codes_.push_back(code);
  count_loads();
  codes_version_.fetch_add(1);
  return code;
}

std::optional<MonotonicTime> LeaseBoard::last_deadline_of(const LeaseCode& code) const {
  std::optional<MonotonicTime> last;
  const std::lock_guard lock(mutex_);
  queue_.for_each([&](const DirectCall& call) {
    if (call.code == &code) last = std::max(last.value_or(call.due), call.due);
  });
  return last;
}

void LeaseBoard::await_code(const LeaseCode& code) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, std::chrono::steady_clock::now() + longest_load,
                      [&] { return code.loaded || code.rejected || end_; });
  if (code.loaded) return;
  if (code.rejected) throw Error(*code.rejected);
  if (end_) throw Error(*end_);
  throw Error({.kind = ErrorKind::timed_out,
               .message = code.compiling > 0 ? "the module waited for a compiler for " +
                                                   seconds_since(code.compiling_since) +
                                                   ", and is not compiled yet"
                                             : "no worker has loaded the module within a minute",
               .hint = "try again, or look at the executor's log",
               .function = code.function});
}

void LeaseBoard::code_loaded(LeaseCode& code, const std::vector<std::string>& entries) {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(code.loaded, true)) code.entries = entries;
  code.failed_loads = 0;
  count_loads();
  changed_.notify_all();
}

bool LeaseBoard::code_rejected(LeaseCode& code, const LaneRejected& why) {
  std::vector<DirectCall*> refused;
  Error::Details details{.kind = kind_of(why.code),
                         .message = "cannot be loaded: " + why.message,
                         .function = code.function};
  {
    const std::lock_guard lock(mutex_);
    // The calls that wait for it have passed their deadlines, or will; others may have more time.
    if (why.code == ErrorCode::no_capacity || why.code == ErrorCode::timed_out) return true;
    if (lane_client::is_transient(why.code) && ++code.failed_loads < lane_client::most_failed_loads)
      return true;
    code.rejected = details;
    count_loads();
    const auto of_code = [&](const DirectCall& call) {
      return call.code == &code ? Turn::now : Turn::never;
    };
    while (DirectCall* call = queue_.take(of_code)) {
      refused.push_back(call);
      waiting_.fetch_sub(1);
    }
    changed_.notify_all();
  }
  for (DirectCall* call : refused) finish_with(*call, details);
  return false;
}

int LeaseBoard::module_of(const std::shared_ptr<LeaseCode>& code) {
  {
    const std::lock_guard lock(mutex_);
    if (code->module) return code->module.get();
    if (std::exchange(code->fetching, true)) return -1;
  }
  if (const auto lease_threads = threads()) lease_threads->keeper.fetch(weak_from_this(), code);
  return -1;
}

bool LeaseBoard::module_fetched(LeaseCode& code, Result<UniqueFd> module) {
  {
    const std::lock_guard lock(mutex_);
    code.fetching = false;
    if (module && !code.module) code.module = std::move(*module);
    codes_version_.fetch_add(1);
  }
  return module || code_rejected(code, {code.digest, module.error().code, module.error().message});
}

void LeaseBoard::lane_changed() {
  {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  }
  // Another lane may take what waits: the lane thread offers it around.
  if (!wants_lanes()) return;
  if (const auto lease_threads = threads()) lease_threads->lanes.wake();
}

void LeaseBoard::lane_died() {
  search_ends_.store(
      (std::chrono::steady_clock::now() + longest_search).time_since_epoch().count());
  lane_changed();
  if (ended()) return;
  if (const auto lease_threads = threads()) lease_threads->keeper.renew_soon(weak_from_this());
}

bool LeaseBoard::is_searching() const {
  const MonotonicTime search_ends{MonotonicTime::duration(search_ends_.load())};
  return std::chrono::steady_clock::now() < search_ends;
}

void LeaseBoard::lane_refused(const LaneRefused& why) {
  const std::lock_guard lock(mutex_);
  // What a lease that has run ends with.
  const bool over = why.code == ErrorCode::cancelled || why.code == ErrorCode::lease_ended;
  const ErrorKind kind = over ? ErrorKind::lease_ended : kind_of(why.code);
  refusal_ = Error::Details{.kind = kind, .message = why.message, .hint = hint_for(kind)};
}

void LeaseBoard::watch_lanes() {
  if (watching_.exchange(true)) return;
  if (const auto lease_threads = threads()) lease_threads->lanes.wake();
}

std::optional<Error::Details> LeaseBoard::refusal() const {
  const std::lock_guard lock(mutex_);
  return refusal_;
}

std::optional<Error::Details> LeaseBoard::trouble() const {
  const std::lock_guard lock(mutex_);
  return end_ ? end_ : refusal_;
}

bool LeaseBoard::ended() const {
  const std::lock_guard lock(mutex_);
  return end_.has_value();
}

void LeaseBoard::throw_if_ended() const {
  const std::lock_guard lock(mutex_);
  if (end_) throw Error(*end_);
}

bool LeaseBoard::close(const Error::Details& why) {
  std::deque<DirectCall*> waiting;
  {
    const std::lock_guard lock(mutex_);
    if (end_) return false;
    end_ = why;
    waiting = queue_.take_all();
    waiting_.store(0);
    changed_.notify_all();
  }
  for (DirectCall* call : waiting) finish_with(*call, why);
  return true;
}

}  // namespace orchid::sdk
