// transport/lane.h: a connection between a client and a worker, whatever carries it: calls go one
// way, answers come back in the order of the calls (docs/PROTOCOL.md §4).
//
// Each end belongs to one thread. Neither end trusts the other: what the peer wrote is checked
// before it is used, and nonsense ends the lane with `bad_request`.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "foundation/result.h"
#include "protocol/call_header.h"
#include "protocol/outcome.h"

namespace orchid::transport {

/// One call as the client hands it over. `input` is copied by `send`, unless it was written in
/// place through `allocate`.
struct LaneCall {
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;
  std::uint16_t entry = 0;
  std::chrono::nanoseconds deadline{0};  // from now; 0: none
  std::span<const std::byte> input;
  RequestKind kind = RequestKind::call;  // the others belong to the stream that was begun last
  std::uint16_t flags = 0;               // flag_stream, flag_last, flag_data
  [[nodiscard]] bool is_of_stream() const {
    return kind != RequestKind::call || (flags & flag_stream) != 0;
  }
};

/// One answer. `payload` and `log` point into the lane and stay valid until
/// `LaneClient::release(response)`.
struct LaneResponse {
  std::uint64_t request_id = 0;
  ResponseKind kind = ResponseKind::reply;
  Outcome outcome = Outcome::ok;
  bool payload_is_message = false;
  bool quick_code = false;  // it ran before the best code for the host was there
  std::chrono::nanoseconds run_time{0};
  std::span<const std::byte> payload;
  std::string_view log;           // may be marked as cut by `log_dropped`
  std::uint64_t log_dropped = 0;  // bytes that did not fit
  std::uint64_t ticket = 0;       // for `release`
};

/// The client's end. Owned by one thread.
class LaneClient {
 public:
  virtual ~LaneClient() = default;
  LaneClient(const LaneClient&) = delete;
  LaneClient& operator=(const LaneClient&) = delete;

  /// Room in the lane, 64-byte aligned, to be passed as the whole `input` of one `send`.
  /// Errors: `no_capacity` (full now), `too_large` (never fits).
  [[nodiscard]] virtual Result<std::span<std::byte>> allocate(std::size_t size) = 0;
  /// Gives back what `allocate` returned and no `send` took.
  virtual void abandon(std::span<const std::byte> room) = 0;

  /// Publishes a call and returns its request id (never 0). Errors: `no_capacity` when 255 calls
  /// are in flight or there is no room for the input now, `too_large`. A worker that sleeps is sure
  /// to wake for it once `receive` has found nothing or `prepare_to_sleep` was called.
  [[nodiscard]] virtual Result<std::uint64_t> send(const LaneCall& call) = 0;
  /// The next answer, if there is one. Errors: `bad_request`: the worker wrote nonsense; drop this
  /// lane. `unreachable`: the worker has gone.
  [[nodiscard]] virtual Result<std::optional<LaneResponse>> receive() = 0;
  /// Lets the worker use the response's room again, and ours for the request. Once for each
  /// response.
  virtual void release(const LaneResponse& response) = 0;

  /// Calls without an answer.
  [[nodiscard]] virtual std::size_t in_flight() const = 0;
  /// Announces sleep; true: no answer is there, wait for `wake_descriptor` to become readable.
  /// False: look again.
  [[nodiscard]] virtual bool prepare_to_sleep() = 0;
  virtual void finish_sleep() = 0;  // after waking, or instead of sleeping
  [[nodiscard]] virtual int wake_descriptor() const = 0;
  /// `receive` fails since the worker has closed the lane, after all that was received: there is no
  /// more that it has sent. False: that is not so, or not known.
  [[nodiscard]] virtual bool is_at_end() const { return false; }
  /// Gives memory of large past payloads back to the system; for an idle lane (nothing in flight,
  /// nothing unreleased).
  virtual void trim() = 0;

 protected:
  LaneClient() = default;
  LaneClient(LaneClient&&) = default;
  LaneClient& operator=(LaneClient&&) = default;
};

/// One call, or entry of a stream, as the worker sees it; its kind and flags are known ones.
/// `input` points into the lane; the client can change it at any time.
struct LaneRequest {
  CallHeader header;
  std::span<std::byte> input;
};

/// The worker's end. Owned by one thread.
class LaneWorker {
 public:
  virtual ~LaneWorker() = default;
  LaneWorker(const LaneWorker&) = delete;
  LaneWorker& operator=(const LaneWorker&) = delete;

  /// The next call, if there is one. `input` is valid until the answer to it is published. Errors:
  /// `bad_request`, `unreachable`: end the worker.
  [[nodiscard]] virtual Result<std::optional<LaneRequest>> receive() = 0;
  /// True when a request may be waiting.
  [[nodiscard]] virtual bool ready() const = 0;

  /// Room for the current call's answer, 64-byte aligned. Again: the same with another size; what
  /// was written is kept, the address may change. Null: more than there is room for now.
  [[nodiscard]] virtual std::byte* output(std::size_t size) = 0;
  struct Answer {
    ResponseKind kind = ResponseKind::reply;
    /// Apart from `kind`: both read as one, right after they were written, wait for the store
    /// buffer.
    alignas(8) Outcome outcome = Outcome::ok;
    std::chrono::nanoseconds run_time{0};
    std::string_view message;  // instead of the output, when not empty
    std::string_view log;
    std::uint64_t log_dropped = 0;
    bool quick_code = false;
  };
  /// Publishes the answer to the oldest unanswered request with the current output. Errors:
  /// `bad_request`, `unreachable`.
  [[nodiscard]] virtual Result<void> answer(const Answer& answer) = 0;
  /// Returns when all answers will reach a client that takes them, though this process ends. The
  /// client need not be awake for small ones. Errors: `timed_out` (nothing moves), `unreachable`.
  [[nodiscard]] virtual Result<void> flush() { return {}; }
  static constexpr std::chrono::seconds flush_patience{1};

  /// Whether it asks the kernel for each request and answer. That takes longer than many calls.
  [[nodiscard]] virtual bool asks_kernel() const { return false; }

  /// As at the client's end.
  [[nodiscard]] virtual bool prepare_to_sleep() = 0;
  virtual void finish_sleep() = 0;
  [[nodiscard]] virtual int wake_descriptor() const = 0;

 protected:
  LaneWorker() = default;
  LaneWorker(LaneWorker&&) = default;
  LaneWorker& operator=(LaneWorker&&) = default;
};

}  // namespace orchid::transport
