// transport/ucx_memory.h: memory of one host that a program of another one reads and writes, over a
// connection that is made, keyed and guarded like a lane between hosts (docs/PROTOCOL.md, "Leased
// memory").
//
// The client asks, the server does what is asked in the order in which it comes, and answers in the
// same order. Neither end trusts the other: a server touches nothing beyond its memory, a client
// takes no bytes that it has not asked for. There are no remote writes but these messages.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "foundation/result.h"
#include "foundation/units.h"
#include "protocol/control_messages.h"
#include "transport/ucx_lane.h"

namespace orchid::transport {

constexpr std::size_t memory_part = 1 << 20;     // bytes of one request, at most
constexpr std::size_t strided_part = 64 * 1024;  // the same of one with rows
constexpr std::size_t memory_window = 128;       // requests without an answer, at most
constexpr std::size_t atomic_size = 8;           // bytes, which are aligned like that

enum class MemoryOp : std::uint8_t { put = 1, get = 2, fetch_add = 3, compare_swap = 4 };

/// Rows of `row` bytes each, the beginnings of two of them `stride` bytes apart: what a request
/// touches, in the order of its bytes. A request without rows has one.
struct MemoryRows {
  std::uint64_t offset = 0;  // of the first byte
  std::uint64_t row = 0;
  std::uint64_t stride = 0;  // at least `row`; of one row it does not matter
  std::uint64_t count = 1;
  friend bool operator==(const MemoryRows&, const MemoryRows&) = default;
  /// What is wrong with them in a memory of so many bytes, for people; or nothing.
  [[nodiscard]] std::optional<Failure> fault(ByteCount memory) const;
  [[nodiscard]] std::uint64_t bytes() const { return row * count; }  // without a fault
  /// Beyond the last byte; without a fault.
  [[nodiscard]] std::uint64_t end() const { return offset + (count - 1) * stride + row; }
};

/// The server's end. Owned by one thread. Needs no system call that opens, binds, connects or
/// accepts anything.
class UcxMemoryServer {
 public:
  struct Pace {
    WaitMode wait = WaitMode::adaptive;  // for the next request
    int stop = -1;                       // a descriptor; readable: it is to end
  };
  UcxMemoryServer(UcxMemoryServer&& other) noexcept;
  UcxMemoryServer& operator=(UcxMemoryServer&& other) noexcept;
  ~UcxMemoryServer();

  /// Until the client has gone, which is no error. Not twice. `memory` lives as long as this
  /// server. Errors: `cancelled`; `bad_request` (the client asks for what there is not);
  /// `internal` (of another size than was listened for).
  [[nodiscard]] Result<void> serve(std::span<std::byte> memory, const Pace& pace);

  class State;
  explicit UcxMemoryServer(std::unique_ptr<State> state);

 private:
  std::unique_ptr<State> state_;
};

/// Waits for the one client. Owned by one thread.
class UcxMemoryListener {
 public:
  struct Options {
    std::string address;  // an IP address of this host; empty: all of them
    ConnectionKey key{};  // of this memory alone
    ByteCount bytes;
    std::chrono::milliseconds hello_timeout{5000};  // for a peer to say who it is
  };
  /// Errors: `bad_configuration` (no such address), `system`.
  [[nodiscard]] static Result<UcxMemoryListener> listen(UcxContext& context,
                                                        const Options& options);
  UcxMemoryListener(UcxMemoryListener&& other) noexcept;
  UcxMemoryListener& operator=(UcxMemoryListener&& other) noexcept;
  ~UcxMemoryListener();

  /// What the client connects to; only the port when all addresses are listened on.
  [[nodiscard]] const std::string& address() const;
  /// The connection with the first client that has the right key; the doors are closed then. Not
  /// twice. Errors: as of UcxLaneListener::accept.
  [[nodiscard]] Result<UcxMemoryServer> accept(LaneDeadline deadline, int stop = -1);

 private:
  class State;
  explicit UcxMemoryListener(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// The client's end. One thread at a time.
class UcxMemoryClient {
 public:
  struct Options {
    std::string address;  // as UcxMemoryListener::address, with a host
    ConnectionKey key{};
    ByteCount bytes;  // a server that has another size is not the right one
    LaneDeadline deadline;
  };
  /// Errors: `unreachable`, `timed_out`, `unsupported` (other version), `bad_request` (no server of
  /// this memory).
  [[nodiscard]] static Result<UcxMemoryClient> connect(UcxContext& context, const Options& options);
  UcxMemoryClient(UcxMemoryClient&& other) noexcept;
  UcxMemoryClient& operator=(UcxMemoryClient&& other) noexcept;
  ~UcxMemoryClient();

  [[nodiscard]] ByteCount size() const;

  /// What is pointed to stays until the request is finished, or this client is destroyed.
  struct Request {
    MemoryOp op = MemoryOp::get;
    MemoryRows rows;                    // without a fault; of an atomic 8 aligned bytes
    std::span<const std::byte> source;  // of a put: rows.bytes(), at most a part's
    std::span<std::byte> target;        // of a get: the same
    std::uint64_t operand = 0;          // of an atomic: what is added, or the new value
    std::uint64_t expected = 0;         // of compare_swap
    std::uint64_t* before = nullptr;    // of an atomic: the value that was there
    bool together = false;              // with others, up to the next `progress`: less to send
  };
  /// The request's number, from 1; nothing: not now, since too many have no answer yet, or since it
  /// would change what a get before it has yet to read.
  [[nodiscard]] std::optional<std::uint64_t> begin(const Request& request);
  /// So many have been answered, and nothing of them is pointed to any more.
  [[nodiscard]] std::uint64_t finished() const;
  /// Of requests that were begun and not finished: nothing is written to the targets of the first
  /// up to the last of these from now on.
  void forget(std::uint64_t first, std::uint64_t last);

  /// Lets UCX work. False: there was nothing to do.
  bool progress();
  /// Another number whenever the server gets on.
  [[nodiscard]] std::uint64_t progress_made() const;
  /// Requests wait to be sent on, which `progress` does.
  [[nodiscard]] bool is_sending() const;
  /// Why the connection is of no use any more.
  [[nodiscard]] const std::optional<Failure>& failure() const;
  /// True: nothing to do, and `wake_descriptor` will become readable.
  [[nodiscard]] bool arm();
  [[nodiscard]] int wake_descriptor() const;

  class State;
  explicit UcxMemoryClient(std::unique_ptr<State> state);

 private:
  std::unique_ptr<State> state_;
};

}  // namespace orchid::transport
