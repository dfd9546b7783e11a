// protocol/door_messages.h: what a client and orchid-door say to each other on a plain TCP
// connection, before there is a lane and after it (docs/PROTOCOL.md, "The door").
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "foundation/result.h"
#include "foundation/units.h"
#include "protocol/limits.h"

namespace orchid {

constexpr std::uint16_t door_version = 1;
constexpr std::size_t longest_door_token = 4096;
constexpr std::size_t longest_door_text = 64 * 1024;  // of a welcome that refuses
/// What a request or an answer may have beyond the largest body.
constexpr ByteCount door_head = 1_MiB;
constexpr ByteCount door_slab{limits::module_size.value + door_head.value};

/// Client to door, first; the token follows. All integers of this file are little-endian.
struct DoorHello {
  std::array<char, 8> magic{'O', 'R', 'C', 'H', 'D', 'O', 'O', 'R'};
  std::uint16_t version = door_version;
  std::uint16_t token_bytes = 0;
  std::uint32_t reserved = 0;
};
static_assert(sizeof(DoorHello) == 16);

/// Door to client. Status 200: the lane is at `port` of the same host, and opens with `key`. Any
/// other: what the gateway or the door answers over HTTP, with a problem document that follows.
struct DoorWelcome {
  std::array<char, 8> magic{'O', 'R', 'C', 'H', 'W', 'E', 'L', 'C'};
  std::uint16_t version = door_version;  // the door's
  std::uint16_t status = 200;
  std::uint32_t text_bytes = 0;
  std::uint16_t port = 0;
  std::array<std::byte, 6> reserved{};
  std::array<std::byte, 16> key{};
};
static_assert(sizeof(DoorWelcome) == 40);

/// Door to client, when it ends the connection by itself.
struct DoorFarewell {
  std::array<char, 8> magic{'O', 'R', 'C', 'H', 'B', 'Y', 'E', 'S'};
  std::uint64_t taken = 0;  // requests that came to it; no later one has reached the gateway
};
static_assert(sizeof(DoorFarewell) == 16);

/// Errors: `bad_request` (no hello), `unsupported` (another version), `unauthenticated` (no token),
/// `too_large`.
[[nodiscard]] Result<DoorHello> parse_door_hello(std::span<const std::byte, sizeof(DoorHello)> in);
/// Whether it can stand in an HTTP field as it is.
[[nodiscard]] bool is_clean_token(std::string_view token);
/// Errors: `bad_request` (no door), `unsupported` (another version).
[[nodiscard]] Result<DoorWelcome> parse_door_welcome(
    std::span<const std::byte, sizeof(DoorWelcome)> in);
/// Errors: `bad_request`.
[[nodiscard]] Result<DoorFarewell> parse_door_farewell(
    std::span<const std::byte, sizeof(DoorFarewell)> in);

}  // namespace orchid
