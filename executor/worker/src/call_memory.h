// worker/call_memory.h: the leased memory that the running call uses.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foundation/result.h"
#include "foundation/unique_fd.h"
#include "foundation/units.h"
#include "protocol/memory_access.h"
#include "service_client.h"

namespace orchid::executor {

/// Owned by the worker's thread; one for all of its calls, one after the other. The worker itself
/// never goes to another host: a process of the tenant's, which runs no user code, does that for
/// each memory that is open, and is asked one thing at a time.
class CallMemory {
 public:
  /// That process gives a host up that does not get on after less.
  static constexpr std::chrono::seconds patience{45};
  static constexpr std::size_t most_open = 4;
  /// `stopped`: whether the running call is to stop: then nothing more is waited for.
  explicit CallMemory(
      ServiceClient& depot, std::function<bool()> stopped = [] { return false; })
      : depot_(depot), stopped_(std::move(stopped)) {}

  struct Refusal {
    Failure why;
    bool may_have_happened = false;  // an atomic that was sent, and has no answer
  };
  template <typename T>
  using Answer = std::expected<T, Refusal>;

  struct Opened {
    std::uint32_t memory = 0;  // its number
    ByteCount size;
  };
  /// By the id of its lease. What is open stays as it is. Errors: what the depot refuses with
  /// (`not_found`, `conflict`: somebody else uses it, `quota`, `unreachable`); `bad_request`.
  [[nodiscard]] Result<Opened> open(std::string_view lease);
  /// Errors of the following: `bad_request` (not within the memory, or no memory that is open:
  /// nothing was done), `lease_ended`, `unreachable` (it is not open any more), `cancelled` (the
  /// call is to stop; the same).
  [[nodiscard]] Answer<void> put(std::uint32_t memory, std::uint64_t offset,
                                 std::span<const std::byte> bytes);
  [[nodiscard]] Answer<void> get(std::uint32_t memory, std::uint64_t offset,
                                 std::span<std::byte> bytes);
  /// `access`: one of the two atomics. What was there before.
  [[nodiscard]] Answer<std::uint64_t> change(std::uint32_t memory, MemoryAccess access);
  [[nodiscard]] Answer<void> fence(std::uint32_t memory);

  /// The entry has returned: nothing is open any more.
  void close() { open_.clear(); }

 private:
  struct Open {
    std::string lease;
    ByteCount size;
    UniqueFd socket;               // to its process; empty: it is of no use any more
    std::optional<Failure> ended;  // why
    std::uint32_t last = 0;        // sequence
  };
  [[nodiscard]] Answer<Open*> find(std::uint32_t memory);
  [[nodiscard]] Answer<Open*> find(std::uint32_t memory, std::uint64_t offset, std::uint64_t bytes);
  /// `target`: of a get. Value: what an atomic has found.
  [[nodiscard]] Answer<std::uint64_t> ask(Open& open, MemoryAccess access,
                                          std::span<const std::byte> bytes = {},
                                          std::span<std::byte> target = {});
  [[nodiscard]] Answer<std::uint64_t> await(Open& open, const MemoryAccess& access,
                                            std::span<std::byte> target);

  ServiceClient& depot_;
  std::function<bool()> stopped_;
  std::vector<Open> open_;  // by number
};

}  // namespace orchid::executor
