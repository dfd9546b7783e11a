// worker/call_memory.h: the leased memory that the running call uses.
#pragma once
#include <array>
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
#include "foundation/sockets.h"
#include "foundation/unique_fd.h"
#include "foundation/units.h"
#include "orchid/leased_memory.h"
#include "protocol/memory_access.h"
#include "service_client.h"

namespace orchid::executor {

/// Owned by the worker's thread; one for all of its calls, one after the other. The worker itself
/// never goes to another host: a process of the tenant's, which runs no user code, does that for
/// each memory that is open. It is asked for parts, of which some are on their way at once.
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
  /// Does the steps in their order, with as many parts on their way as may be.
  [[nodiscard]] Answer<void> run(std::uint32_t memory, std::span<const orchid_leased_step> steps);
  /// The same up to when all are on their way: a ticket. Targets of gets stay where they are until
  /// they are waited for, or nothing is open any more.
  [[nodiscard]] Answer<std::uint64_t> start(std::uint32_t memory,
                                            std::span<const orchid_leased_step> steps);
  /// Errors: also `bad_request` (there is no such ticket), `unreachable` (of what was opened before
  /// it was opened again).
  [[nodiscard]] Answer<void> wait(std::uint32_t memory, std::uint64_t ticket);
  /// `access`: one of the two atomics. What was there before.
  [[nodiscard]] Answer<std::uint64_t> change(std::uint32_t memory, MemoryAccess access);
  [[nodiscard]] Answer<void> fence(std::uint32_t memory);

  /// The entry has returned: nothing is open any more.
  void close() { open_.clear(); }

 private:
  using Clock = std::chrono::steady_clock;
  struct Asked {
    MemoryAsk ask = MemoryAsk::fence;
    std::uint32_t sequence = 0;
    std::span<std::byte> target{};  // of a get
  };
  struct Open {
    std::string lease;
    ByteCount size;
    UniqueFd socket;               // to its process; empty: it is of no use any more
    std::optional<Failure> ended;  // why
    std::uint32_t last = 0;        // sequence
    std::array<Asked, memory_access_window> asked{};  // by number, from the last one on
    std::uint64_t begun = 0;                          // requests
    std::uint64_t done = 0;                           // of them; their answers have come
    std::uint64_t lost = 0;      // up to this one they were asked before it was opened again
    MemoryAnswer answer{};       // the last one
    Clock::time_point moved_at;  // when it has got on, of what is waited for now
    [[nodiscard]] Asked& request(std::uint64_t number) {
      return asked.at(number % memory_access_window);
    }
  };
  [[nodiscard]] Answer<Open*> find(std::uint32_t memory);
  /// With all steps within it.
  [[nodiscard]] Answer<Open*> find(std::uint32_t memory, std::span<const orchid_leased_step> steps);
  [[nodiscard]] Answer<void> begin(Open& open, const orchid_leased_step& step);
  /// Sends it, when there is room.
  [[nodiscard]] Answer<void> begin(Open& open, MemoryAccess access,
                                   std::span<const std::byte> bytes = {},
                                   std::span<std::byte> target = {});
  /// Until request `number` is done, or it has ended.
  void finish(Open& open, std::uint64_t number);
  /// The same of one that was begun last, and moves no bytes. Value: what an atomic has found.
  [[nodiscard]] Answer<std::uint64_t> ask(Open& open, const MemoryAccess& access);
  /// Takes answers that have come; waits for the first, or for room, for a short time.
  void go_on(Open& open, bool for_room);
  void take(Open& open, const Packet& packet);
  static void end(Open& open, Failure why);

  ServiceClient& depot_;
  std::function<bool()> stopped_;
  std::vector<Open> open_;  // by number
};

}  // namespace orchid::executor
