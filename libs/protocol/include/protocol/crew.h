// protocol/crew.h: what members of a crew, and its client, write into each other's rings
// (docs/PROTOCOL.md §4, "Crews"): the fields of a CallHeader that mean something else there.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "foundation/units.h"
#include "protocol/call_header.h"

namespace orchid::crew {

constexpr std::uint32_t least_members = 2;
/// Numbers are bytes in places, and each pair has memory of its own: 2145 pairs, the client's and
/// each member's with itself among them.
constexpr std::uint32_t most_members = 64;
/// Of the program that holds the crew.
constexpr std::uint32_t client_member = 0;

/// Input or output of a call, at each step.
constexpr ByteCount payload_size = 64_KiB;
/// What a call has logged on all its way; what follows is counted.
constexpr ByteCount log_size = 8_KiB;
/// Calls of a crew under way. Each is in one place at a time, so that a ring of 256 entries never
/// runs full, and nobody ever waits for room.
constexpr std::uint32_t open_calls = 255;
/// Children of its calls that a member may lend to one other member at a time.
constexpr std::uint32_t loans = 16;
/// Messages on their way from one member to another: calls, children, and ends of children.
constexpr std::uint32_t ring_entries = 512;
static_assert(open_calls + 2 * loans <= ring_entries);
/// How often a call may go on, unless its caller says less.
constexpr std::uint32_t most_hops = 1'000'000;

/// What a message between members is, in `kind`. What goes to the client is an answer.
enum class MessageKind : std::uint8_t {
  call = 1,
  child = 16,      // of a call of the sender, which lends it; its number as a loan: held_answers
  child_end = 17,  // of a loan from the reader; `entry` is the kind of answer
};
[[nodiscard]] constexpr bool is_of_loan(std::uint8_t kind) {
  return kind == static_cast<std::uint8_t>(MessageKind::child) ||
         kind == static_cast<std::uint8_t>(MessageKind::child_end);
}

/// The place of a call in its client's window: the same for as long as it is under way.
constexpr std::uint32_t window_places = 256;
[[nodiscard]] constexpr std::uint32_t place_of(std::uint64_t request_id) {
  return static_cast<std::uint32_t>(request_id % window_places);
}

/// Modules go by the first 64 bits of their digest, since their slots differ from member to member.
[[nodiscard]] constexpr std::uint64_t module_key(std::string_view digest) {
  std::uint64_t key = 0;
  constexpr std::size_t digits = 16;
  const std::size_t start = digest.find(':') + 1;
  for (const char digit : digest.substr(start, digits))
    key = key << 4 | static_cast<std::uint64_t>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
  return key;
}
/// So a member asks for a module of which it has only that: "sha256:" and the first 16 digits.
[[nodiscard]] inline std::string name_of_key(std::uint64_t key) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string name = "sha256:";
  for (int shift = 60; shift >= 0; shift -= 4) name += digits[key >> shift & 15];
  return name;
}
[[nodiscard]] inline bool is_name_of_key(std::string_view name) {
  return name.size() == std::string_view("sha256:").size() + 16 &&
         name == name_of_key(module_key(name));
}
constexpr void set_module_key(CallHeader& header, std::uint64_t key) {
  header.slot = static_cast<std::uint32_t>(key);
  header.generation = static_cast<std::uint32_t>(key >> 32);
}
[[nodiscard]] constexpr std::uint64_t module_key_of(const CallHeader& header) {
  return std::uint64_t{header.generation} << 32 | header.slot;
}

/// In the lower half of `origin`: how often the call may still go on. Its client is who began it.
constexpr std::uint64_t hops_mask = 0xffff'ffff;
constexpr void set_hops(CallHeader& header, std::uint32_t left) {
  header.origin = (header.origin & ~hops_mask) | left;
}
[[nodiscard]] constexpr std::uint32_t hops_of(const CallHeader& header) {
  return static_cast<std::uint32_t>(header.origin & hops_mask);
}

/// In the next to highest bit of `origin`: each step writes a line into the call's log, with its
/// member, its entry, and so many nanoseconds: "<mark>3 walk 1200".
constexpr std::uint64_t traced_mask = std::uint64_t{1} << 62U;
constexpr char step_mark = '\x1e';
constexpr void set_traced(CallHeader& header, bool traced) {
  header.origin = (header.origin & ~traced_mask) | (traced ? traced_mask : 0);
}
[[nodiscard]] constexpr bool is_traced(const CallHeader& header) {
  return (header.origin & traced_mask) != 0;
}

/// In the highest bit of `origin`: the call is never begun again, so it may have effects.
constexpr std::uint64_t once_mask = std::uint64_t{1} << 63U;
constexpr void set_once(CallHeader& header, bool once) {
  header.origin = (header.origin & ~once_mask) | (once ? once_mask : 0);
}
[[nodiscard]] constexpr bool is_once(const CallHeader& header) {
  return (header.origin & once_mask) != 0;
}

}  // namespace orchid::crew
