// lane_client/memory_client.h: leased memory of another host, as a program uses it: requests of any
// size, from any thread, in their order, many of them under way.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "foundation/result.h"
#include "foundation/unique_fd.h"
#include "protocol/control_messages.h"
#include "transport/ucx_memory.h"

namespace orchid::lane_client {

/// Why an atomic has no answer.
struct AtomicFailure {
  Failure why;
  bool may_have_happened = false;  // it was sent: nobody can know, and it is not sent again
};

/// Any thread. No thread of its own: who waits lets UCX work, one of them at a time. What one
/// thread asks for is done in the order in which it asks.
///
/// When the connection ends, or the other host does not get on, that is the end of the memory for
/// this client: all that waits fails, and so does all that comes.
class MemoryClient {
 public:
  struct Options {
    std::string host;                            // for messages
    std::chrono::milliseconds patience{30'000};  // with a host that does not get on
    WaitMode wait = WaitMode::adaptive;          // for an answer
  };
  /// Errors: `system`.
  [[nodiscard]] static Result<std::unique_ptr<MemoryClient>> create(
      transport::UcxMemoryClient connection, Options options);
  MemoryClient(const MemoryClient&) = delete;
  MemoryClient& operator=(const MemoryClient&) = delete;
  ~MemoryClient() = default;

  [[nodiscard]] ByteCount size() const { return size_; }
  [[nodiscard]] const std::string& host() const { return options_.host; }

  /// Reads or writes rows of the memory; the bytes here lie one behind the other.
  struct Step {
    transport::MemoryRows rows;
    std::span<const std::byte> source{};  // of a put; a step has one of both
    std::span<std::byte> target{};        // of a get
  };
  /// Does all of them in their order, and returns when all are done. Errors: `bad_request` (a step
  /// is not within the memory, or its bytes here are fewer or more: then none was done),
  /// `lease_ended`, `unreachable` (the host does not get on; what has been done is not known).
  [[nodiscard]] Result<void> run(std::span<const Step> steps);

  /// Requests that are on their way: of a step whose end is waited for later.
  struct Range {
    std::uint64_t first = 1;
    std::uint64_t last = 0;
  };
  /// Asks, and returns when all is asked for: the bytes of a get arrive while somebody waits for
  /// anything, and those of a put stay where they are until it is finished. `together`: with what
  /// is asked for next: less to send. Errors: as of `run`.
  [[nodiscard]] Result<Range> begin(const Step& step, bool together = false);
  /// Errors: `lease_ended`, `unreachable`.
  [[nodiscard]] Result<void> finish(const Range& range);
  [[nodiscard]] bool is_finished(const Range& range);
  /// Nothing is written to the get's target from now on.
  void forget(const Range& range);

  struct Atomic {
    transport::MemoryOp op = transport::MemoryOp::fetch_add;
    std::uint64_t offset = 0;    // a multiple of 8
    std::uint64_t operand = 0;   // what is added, or the new value
    std::uint64_t expected = 0;  // of compare_swap
  };
  /// The value before. Errors: as of `run`.
  [[nodiscard]] std::expected<std::uint64_t, AtomicFailure> change(const Atomic& atomic);

  /// Returns when all that was asked for before, by whomever, is done. Errors: as of `finish`.
  [[nodiscard]] Result<void> fence();

  /// Lets UCX work, if nobody else does, and sees whether the memory is gone: who has nothing to
  /// ask for calls it now and then, so that what is asked later fails before it is sent.
  void look();

  /// From now on everything fails like this; the connection is given up.
  void end(Failure why);
  /// Why everything fails; nothing: it does not.
  [[nodiscard]] std::optional<Failure> ended();

 private:
  using Lock = std::unique_lock<std::mutex>;
  using Clock = std::chrono::steady_clock;
  MemoryClient(transport::UcxMemoryClient connection, Options options, UniqueFd kick);
  [[nodiscard]] Lock lock();
  [[nodiscard]] Result<void> check(const Step& step) const;
  [[nodiscard]] Result<Range> ask(Lock& lock, const Step& step, bool together);
  [[nodiscard]] Result<std::uint64_t> begin_one(Lock& lock,
                                                const transport::UcxMemoryClient::Request& request);
  [[nodiscard]] Result<void> wait_until_finished(Lock& lock, std::uint64_t number);
  [[nodiscard]] Result<void> take_turn(Lock& lock);
  void drive(Lock& lock);
  void sleep(Lock& lock);
  void give_up(Failure why);
  [[nodiscard]] bool note_end();

  const Options options_;
  const ByteCount size_;
  UniqueFd kick_;     // an eventfd: wakes the one that sleeps for all
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::optional<transport::UcxMemoryClient> connection_;
  std::optional<Failure> failure_;  // exactly when there is no connection
  std::optional<Failure> ending_;   // what it is to become, when who drives looks
  std::uint64_t newest_ = 0;        // request that was begun
  bool driving_ = false;            // somebody lets UCX work, for all
  bool sleeping_ = false;           // and sleeps meanwhile
  std::uint64_t moved_ = 0;         // as the connection last said
  Clock::time_point moved_at_;
  Clock::time_point worked_at_;
  std::atomic<unsigned> waiting_ = 0;  // for the mutex
};

}  // namespace orchid::lane_client
