#include "lane_client/memory_client.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <thread>
#include <utility>

#include "transport/memory_parts.h"

namespace orchid::lane_client {
namespace {

using transport::MemoryOp;
using transport::MemoryRows;

/// UCX may have something to do that wakes nobody: its keepalive.
constexpr std::chrono::milliseconds longest_sleep{100};
/// As long as going to sleep and waking up takes: who waits longer sleeps.
constexpr std::chrono::microseconds spin_time{50};

}  // namespace

Result<std::unique_ptr<MemoryClient>> MemoryClient::create(transport::UcxMemoryClient connection,
                                                           Options options) {
  UniqueFd kick(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!kick) return fail_errno("eventfd");
  return std::unique_ptr<MemoryClient>(
      new MemoryClient(std::move(connection), std::move(options), std::move(kick)));
}

MemoryClient::MemoryClient(transport::UcxMemoryClient connection, Options options, UniqueFd kick)
    : options_(std::move(options)),
      size_(connection.size()),
      kick_(std::move(kick)),
      connection_(std::move(connection)) {}

/// Who drives gives way to who waits here.
MemoryClient::Lock MemoryClient::lock() {
  ++waiting_;
  Lock lock(mutex_);
  --waiting_;
  return lock;
}

Result<void> MemoryClient::check(const Step& step) const {
  if (auto fault = step.rows.fault(size_)) return fail(std::move(*fault));
  const std::uint64_t bytes = step.source.empty() ? step.target.size() : step.source.size();
  if (bytes == step.rows.bytes()) return {};
  return fail(ErrorCode::bad_request, std::to_string(bytes) + " bytes here do not fit " +
                                          std::to_string(step.rows.bytes()) +
                                          " bytes of the memory");
}

Result<void> MemoryClient::run(std::span<const Step> steps) {
  for (const Step& step : steps)
    if (auto good = check(step); !good) return good;
  Lock lock = this->lock();
  std::uint64_t last = 0;
  for (const Step& step : steps) {
    const auto range = ask(lock, step, steps.size() > 1);
    if (!range) return fail(range.error());
    last = std::max(last, range->last);
  }
  return wait_until_finished(lock, last);
}

Result<MemoryClient::Range> MemoryClient::begin(const Step& step, bool together) {
  if (auto good = check(step); !good) return fail(std::move(good.error()));
  Lock lock = this->lock();
  return ask(lock, step, together);
}

Result<MemoryClient::Range> MemoryClient::ask(Lock& lock, const Step& step, bool together) {
  Range range;
  if (step.rows.bytes() == 0) {
    if (failure_) return fail(*failure_);
    return range;
  }
  auto asked = for_each_memory_part(step.rows, {},
                                    [&](const MemoryRows& part, std::uint64_t at) -> Result<void> {
                                      transport::UcxMemoryClient::Request request{
                                          .op = step.source.empty() ? MemoryOp::get : MemoryOp::put,
                                          .rows = part,
                                          .together = together};
                                      if (step.source.empty())
                                        request.target = step.target.subspan(at, part.bytes());
                                      else
                                        request.source = step.source.subspan(at, part.bytes());
                                      const auto number = begin_one(lock, request);
                                      if (!number) return fail(number.error());
                                      if (range.last == 0) range.first = *number;
                                      range.last = *number;
                                      return {};
                                    });
  if (!asked) return fail(std::move(asked.error()));
  return range;
}

/// When there is room for it.
Result<std::uint64_t> MemoryClient::begin_one(Lock& lock,
                                              const transport::UcxMemoryClient::Request& request) {
  for (;;) {
    if (failure_) return fail(*failure_);
    if (connection_->finished() == newest_) moved_at_ = Clock::now();  // nobody was waited for
    if (const auto number = connection_->begin(request)) {
      newest_ = *number;
      if (sleeping_ && connection_->is_sending()) ::eventfd_write(kick_.get(), 1);
      return *number;
    }
    if (auto turn = take_turn(lock); !turn) return fail(std::move(turn.error()));
  }
}

Result<void> MemoryClient::wait_until_finished(Lock& lock, std::uint64_t number) {
  while (!failure_ && connection_->finished() < number)
    if (auto turn = take_turn(lock); !turn) return turn;
  if (failure_ && number != 0) return fail(*failure_);
  return {};
}

/// Something has changed when it returns, or may have.
Result<void> MemoryClient::take_turn(Lock& lock) {
  if (driving_) {
    changed_.wait(lock);
  } else {
    driving_ = true;
    drive(lock);
    driving_ = false;
    changed_.notify_all();
  }
  if (failure_) return fail(*failure_);
  return {};
}

/// Lets UCX work until something has come, or the time is over.
void MemoryClient::drive(Lock& lock) {
  const std::uint64_t finished = connection_->finished();
  worked_at_ = Clock::now();
  for (;;) {
    if (ending_) return give_up(*ending_);
    const bool worked = connection_->progress();
    if (connection_->finished() != finished) return;
    if (note_end()) return;
    if (waiting_ != 0) {  // for the mutex: whoever wants to ask meanwhile, or to end this
      lock.unlock();
      std::this_thread::yield();
      lock.lock();
    }
    if (worked) continue;
    const auto now = Clock::now();
    if (const std::uint64_t moved = connection_->progress_made(); moved != moved_) {
      moved_ = moved;
      moved_at_ = worked_at_ = now;
    }
    if (now > moved_at_ + options_.patience)
      return give_up({ErrorCode::unreachable,
                      "the host " + options_.host + " has not got on with its memory for " +
                          std::to_string(options_.patience.count()) +
                          " ms, and the memory was given up: take a new lease"});
    const bool spins = options_.wait == WaitMode::hot ||
                       (options_.wait == WaitMode::adaptive && now - worked_at_ < spin_time);
    if (!spins) sleep(lock);
  }
}

void MemoryClient::sleep(Lock& lock) {
  if (!connection_->arm()) return;
  sleeping_ = true;
  const std::array entries{
      pollfd{.fd = connection_->wake_descriptor(), .events = POLLIN, .revents = 0},
      pollfd{.fd = kick_.get(), .events = POLLIN, .revents = 0}};
  lock.unlock();
  std::array waited = entries;
  ::poll(waited.data(), waited.size(), static_cast<int>(longest_sleep.count()));
  lock.lock();
  sleeping_ = false;
  eventfd_t kicks = 0;
  (void)::eventfd_read(kick_.get(), &kicks);
}

/// Nothing of what was asked for is read or written by UCX any more. By who drives, if somebody
/// does, since that may sleep on the connection's descriptor.
void MemoryClient::give_up(Failure why) {
  if (!failure_) failure_ = std::move(why);
  connection_.reset();
  changed_.notify_all();
}

/// True: the connection has ended, and with it the memory.
bool MemoryClient::note_end() {
  const auto& why = connection_->failure();
  if (!why) return false;
  give_up({ErrorCode::lease_ended, "the memory on host " + options_.host +
                                       " is gone, with all that was in it (" + why->message +
                                       "): take a new lease"});
  return true;
}

void MemoryClient::look() {
  const Lock lock = this->lock();
  if (!connection_ || driving_) return;
  connection_->progress();
  (void)note_end();
}

Result<void> MemoryClient::finish(const Range& range) {
  Lock lock = this->lock();
  return wait_until_finished(lock, range.last);
}

bool MemoryClient::is_finished(const Range& range) {
  const Lock lock = this->lock();
  if (connection_ && !driving_) connection_->progress();
  return failure_ || connection_->failure() || connection_->finished() >= range.last;
}

void MemoryClient::forget(const Range& range) {
  const Lock lock = this->lock();
  if (connection_) connection_->forget(range.first, range.last);
}

std::expected<std::uint64_t, AtomicFailure> MemoryClient::change(const Atomic& atomic) {
  const MemoryRows rows{.offset = atomic.offset, .row = transport::atomic_size};
  const auto refuse = [](Failure why, bool sent) {
    return std::unexpected(AtomicFailure{.why = std::move(why), .may_have_happened = sent});
  };
  if (auto fault = rows.fault(size_)) return refuse(std::move(*fault), false);
  if (atomic.offset % transport::atomic_size != 0)
    return refuse(
        {ErrorCode::bad_request, "an atomic needs 8 bytes whose place is a multiple of 8"}, false);
  std::uint64_t before = 0;
  Lock lock = this->lock();
  const auto number = begin_one(lock, {.op = atomic.op,
                                       .rows = rows,
                                       .operand = atomic.operand,
                                       .expected = atomic.expected,
                                       .before = &before});
  if (!number) return refuse(number.error(), false);
  if (auto done = wait_until_finished(lock, *number); !done)
    return refuse(std::move(done.error()), true);
  return before;
}

Result<void> MemoryClient::fence() {
  Lock lock = this->lock();
  if (failure_) return fail(*failure_);
  return wait_until_finished(lock, newest_);
}

void MemoryClient::end(Failure why) {
  Lock lock = this->lock();
  if (failure_) return;
  if (!driving_) return give_up(std::move(why));
  ending_ = std::move(why);
  ::eventfd_write(kick_.get(), 1);
  changed_.wait(lock, [this] { return !driving_; });
  // Who drove may have got what it waited for, and have left before it saw this.
  if (!failure_) give_up(*ending_);
}

std::optional<Failure> MemoryClient::ended() {
  const Lock lock = this->lock();
  return failure_;
}

}  // namespace orchid::lane_client
