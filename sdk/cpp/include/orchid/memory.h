// orchid/memory.h: memory of another host that a program reads and writes.
//
//   orchid::RemoteMemory memory = client.memory({.bytes = 8ULL << 30});
//   memory.put(0, std::as_bytes(std::span(values)));
//   memory.get(4096, std::as_writable_bytes(std::span(some)));
//   std::uint64_t ticket = memory.fetch_add(0, 1);
//
// What one thread asks for is done in the order in which it asks. The memory is gone with its
// lease: when that was released or has expired, when the host's cores were taken back, and when the
// connection ends. Every later access is an Error `lease_ended`.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "orchid/lease.h"

namespace orchid {

namespace sdk {
class MemoryCore;
}

struct MemoryOptions {
  std::uint64_t bytes = 0;
  std::string host{};                          // where it is to be; empty: wherever there is room
  Wait wait = Wait::adaptive;                  // how both ends wait for each other
  std::chrono::milliseconds duration{60'000};  // of the lease, which is renewed while needed
  std::chrono::milliseconds within{15'000};    // to get it, and to connect
  std::chrono::milliseconds patience{30'000};  // with a host that does not get on; then it is lost
};

/// A lease of memory.
struct MemoryInfo {
  std::string id;
  std::uint64_t size = 0;  // in bytes
  std::string host;
  std::string json;  // the gateway's answer, without what opens the memory
};

/// Rows of `row` bytes each, whose beginnings are `stride` bytes apart, as a column of a matrix has
/// them. Here their bytes lie one behind the other.
struct MemoryRows {
  std::uint64_t offset = 0;
  std::uint64_t row = 0;
  std::uint64_t stride = 0;  // at least `row`
  std::uint64_t count = 1;
};

/// A get that is on its way. One thread. At the end of its life nothing more is written to its
/// target.
class MemoryGet {
 public:
  MemoryGet(MemoryGet&& other) noexcept;
  MemoryGet& operator=(MemoryGet&& other) noexcept;
  ~MemoryGet();
  /// Whether `wait` would not wait; lets what is on its way come in.
  [[nodiscard]] bool ready();
  /// Until all bytes are there. Errors: `lease_ended`, `unreachable`.
  void wait();

 private:
  friend class RemoteMemory;
  class State;
  explicit MemoryGet(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Puts and gets that are sent one behind the other, without waiting for each. One thread. What is
/// given to it stays where it is until `run` has returned.
class MemoryBatch {
 public:
  MemoryBatch(MemoryBatch&& other) noexcept;
  MemoryBatch& operator=(MemoryBatch&& other) noexcept;
  ~MemoryBatch();
  MemoryBatch& put(std::uint64_t offset, std::span<const std::byte> bytes);
  MemoryBatch& get(std::uint64_t offset, std::span<std::byte> bytes);
  MemoryBatch& put(const MemoryRows& rows, std::span<const std::byte> bytes);
  MemoryBatch& get(const MemoryRows& rows, std::span<std::byte> bytes);
  /// Does all of them, in their order, and forgets them. Errors: `bad_request` (one is not within
  /// the memory; then none was done), `lease_ended`, `unreachable`.
  void run();

 private:
  friend class RemoteMemory;
  class State;
  explicit MemoryBatch(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// A handle; its copies are the same memory. Any thread. All members throw `orchid::Error`:
/// `bad_request` (not within the memory), `lease_ended`; `unreachable` when the host does not get
/// on, after which the memory is lost.
class RemoteMemory {
 public:
  /// Of its lease, as in `orchid leases`.
  [[nodiscard]] const std::string& id() const;
  [[nodiscard]] std::uint64_t size() const;  // in bytes
  [[nodiscard]] const std::string& host() const;

  /// Returns when the bytes are there.
  void put(std::uint64_t offset, std::span<const std::byte> bytes);
  void get(std::uint64_t offset, std::span<std::byte> bytes);
  /// The same of rows.
  void put(const MemoryRows& rows, std::span<const std::byte> bytes);
  void get(const MemoryRows& rows, std::span<std::byte> bytes);
  /// Asks for the bytes, and returns. They come in while this program waits for anything of this
  /// memory.
  [[nodiscard]] MemoryGet get_async(std::uint64_t offset, std::span<std::byte> bytes);
  [[nodiscard]] MemoryBatch batch();

  /// Of the 8 bytes at `offset`, a multiple of 8, as a number: what was there before. Error
  /// `outcome_unknown` when it was sent and has no answer; it is never sent twice.
  std::uint64_t fetch_add(std::uint64_t offset, std::uint64_t add);
  /// `desired` is there afterwards if `expected` was; what was there before.
  std::uint64_t compare_swap(std::uint64_t offset, std::uint64_t expected, std::uint64_t desired);
  /// Returns when all that was asked for before, by whatever thread, is done.
  void fence();

  /// Ends the lease. Once more: nothing happens. The end of the last handle does the same, except
  /// of memory that was attached.
  void release();

 private:
  friend class Client;
  explicit RemoteMemory(std::shared_ptr<sdk::MemoryCore> core) : core_(std::move(core)) {}
  std::shared_ptr<sdk::MemoryCore> core_;  // shared with its copies and what it gives out
};

}  // namespace orchid
