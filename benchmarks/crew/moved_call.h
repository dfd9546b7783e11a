// crew/moved_call.h: a call that moves from member to member, as a crew would have it: what is
// judged before code runs, the table of loaded functions, and what a function may ask for.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "crew/chase.h"
#include "foundation/tick_clock.h"
#include "protocol/call_header.h"
#include "protocol/outcome.h"

namespace orchid::bench {

constexpr unsigned crew_window = 255;  // calls of a crew that are open at a time
constexpr std::size_t inline_room = 64;
constexpr std::uint16_t answer_flag = 16;

/// In the 64 bits of CallHeader that are the origin's: who began the call, and how many hops it may
/// still make.
struct Origin {
  std::uint32_t hops_left = 0;
  std::uint16_t member = 0;
  std::uint16_t attempt = 0;
};
static_assert(sizeof(Origin) == sizeof(CallHeader::origin));
[[nodiscard]] inline Origin origin_of(const CallHeader& header) {
  return std::bit_cast<Origin>(header.origin);
}
inline void set_origin(CallHeader& header, const Origin& origin) {
  header.origin = std::bit_cast<std::uint64_t>(origin);
}

/// What a function asks for takes effect when it has returned.
struct MovedCall {
  std::span<const std::byte> input;
  std::span<std::byte> room;  // for the bytes that go on, in the message itself
  const void* state = nullptr;
  std::size_t size = 0;     // of what goes on
  unsigned target = 0;      // a member
  std::uint16_t entry = 0;  // to be called there
  bool forwards = false;    // otherwise `room` holds the answer

  void forward(unsigned member, std::uint16_t its_entry, const void* bytes, std::size_t length) {
    target = member;
    entry = its_entry;
    forwards = true;
    answer(bytes, length);
  }
  void answer(const void* bytes, std::size_t length) {
    size = std::min(length, room.size());
    std::memcpy(room.data(), bytes, size);
  }
};

using LoadedFunction = int (*)(MovedCall& call);
/// What a worker knows by a slot and its generation.
struct LoadedModule {
  std::uint32_t generation = 0;
  std::array<LoadedFunction, 4> entries{};
};
constexpr std::uint32_t chase_slot = 3;
constexpr std::uint32_t chase_generation = 7;
constexpr std::uint16_t chase_entry = 1;

class LoadedModules {
 public:
  LoadedModules();
  /// Null: unknown.
  [[nodiscard]] LoadedFunction find(const CallHeader& header) const {
    if (header.slot >= modules_.size()) return nullptr;
    const LoadedModule& module = modules_[header.slot];
    if (module.generation != header.generation || header.entry >= module.entries.size())
      return nullptr;
    return module.entries[header.entry];
  }

 private:
  std::array<LoadedModule, 16> modules_{};
};

/// What is wrong with a call or an answer from another member, a literal; null: nothing.
[[nodiscard]] inline const char* judge(const CallHeader& header, std::size_t size, unsigned members,
                                       const LoadedModules& modules) {
  if (header.version != call_header_version) return "version";
  if (header.payload_length != size) return "length";
  const Origin origin = origin_of(header);
  if (origin.member >= members) return "origin";
  if ((header.flags & ~answer_flag) != 0) return "flags";
  if ((header.flags & answer_flag) != 0) return nullptr;
  if (origin.hops_left == 0) return "hops";
  return modules.find(header) == nullptr ? "entry" : nullptr;
}

/// Runs the function, and makes the header of what goes on out of the call's. Returns the member it
/// goes to. `came`: ticks at which the call arrived.
class CallRunner {
 public:
  explicit CallRunner(const void* state) : state_(state), rate_(TickRate::measure()) {}
  [[nodiscard]] const LoadedModules& modules() const { return modules_; }

  unsigned run(CallHeader& header, std::span<const std::byte> input, std::span<std::byte> room,
               std::uint64_t came) const {
    MovedCall call{.input = input, .room = room, .state = state_};
    const int status = modules_.find(header)(call);
    header.payload_length = call.size;
    Origin origin = origin_of(header);
    const auto took = static_cast<std::uint64_t>(rate_.duration(ticks_since(came)).count());
    header.deadline_ns = header.deadline_ns > took ? header.deadline_ns - took : 0;
    Outcome outcome = status == 0 ? Outcome::ok : Outcome::function_error;
    if (call.forwards) {
      --origin.hops_left;
      if (header.deadline_ns == 0) outcome = Outcome::deadline_exceeded;
      if (origin.hops_left == 0) outcome = Outcome::limit_exceeded;
      set_origin(header, origin);
      header.entry = call.entry;
      if (outcome == Outcome::ok) return call.target;
    }
    header.flags = answer_flag;
    header.status = static_cast<std::uint8_t>(outcome);
    return origin.member;
  }

 private:
  LoadedModules modules_;
  const void* state_;
  TickRate rate_;
};

/// The header of a chase that process 0 begins.
[[nodiscard]] inline CallHeader first_header(const ChaseRequest& request) {
  CallHeader header;
  header.request_id = request.number;
  header.slot = chase_slot;
  header.generation = chase_generation;
  header.deadline_ns = 30'000'000'000;
  header.payload_length = sizeof(request);
  header.entry = chase_entry;
  header.kind = static_cast<std::uint8_t>(RequestKind::call);
  set_origin(header, {.hops_left = 100'000, .member = 0, .attempt = 1});
  return header;
}

}  // namespace orchid::bench
