#include "protocol/door_messages.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>

namespace orchid {
namespace {

template <typename Message>
Message copied(std::span<const std::byte, sizeof(Message)> in) {
  static_assert(std::is_trivially_copyable_v<Message>);
  Message message;
  std::memcpy(&message, in.data(), sizeof(message));
  return message;
}

std::unexpected<Failure> other_version(std::string_view who, std::uint16_t version) {
  return fail(ErrorCode::unsupported,
              std::string(who) + " speaks version " + std::to_string(version) +
                  " of the door's protocol, and this program version " +
                  std::to_string(door_version) + ": use the same release of Orchid at both ends");
}

}  // namespace

Result<DoorHello> parse_door_hello(std::span<const std::byte, sizeof(DoorHello)> in) {
  const auto hello = copied<DoorHello>(in);
  if (hello.magic != DoorHello{}.magic) return fail(ErrorCode::bad_request, "no client of a door");
  if (hello.version != door_version) return other_version("the client", hello.version);
  if (hello.token_bytes == 0)
    return fail(ErrorCode::unauthenticated,
                "the door lets nobody in without a token: set ORCHID_TOKEN ('orchid token' prints "
                "it where the gateway runs)");
  if (hello.token_bytes > longest_door_token)
    return fail(ErrorCode::too_large, "a token has at most 4096 bytes");
  return hello;
}

bool is_clean_token(std::string_view token) {
  return !token.empty() && std::ranges::all_of(token, [](char c) { return c > 0x20 && c < 0x7f; });
}

Result<DoorWelcome> parse_door_welcome(std::span<const std::byte, sizeof(DoorWelcome)> in) {
  const auto welcome = copied<DoorWelcome>(in);
  if (welcome.magic != DoorWelcome{}.magic)
    return fail(ErrorCode::bad_request, "the other end is not orchid-door");
  if (welcome.version != door_version) return other_version("the door", welcome.version);
  const bool opens = welcome.status == 200 && welcome.port != 0 && welcome.text_bytes == 0;
  const bool refuses =
      welcome.status >= 400 && welcome.status < 600 && welcome.text_bytes <= longest_door_text;
  if (!opens && !refuses) return fail(ErrorCode::bad_request, "a welcome out of range");
  return welcome;
}

Result<DoorFarewell> parse_door_farewell(std::span<const std::byte, sizeof(DoorFarewell)> in) {
  const auto farewell = copied<DoorFarewell>(in);
  if (farewell.magic != DoorFarewell{}.magic)
    return fail(ErrorCode::bad_request, "no farewell of a door");
  return farewell;
}

}  // namespace orchid
