#include "protocol/service_messages.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <type_traits>

namespace orchid {
namespace {

constexpr std::uint32_t service_version = 1;

/// In the byte order of the host: both ends are on it.
struct RequestPacket {
  std::uint32_t version = service_version;
  std::uint16_t ask = 0;
  std::uint16_t name_bytes = 0;
  std::uint32_t sequence = 0;
  std::uint32_t zero = 0;
  DataId data{};
  std::uint64_t bytes = 0;
  std::array<char, longest_service_name> name{};
};
static_assert(sizeof(RequestPacket) == service_request_bytes &&
              std::is_trivially_copyable_v<RequestPacket>);

struct AnswerPacket {
  std::uint32_t version = service_version;
  std::uint16_t verdict = 0;
  std::uint16_t code = 0;
  std::uint32_t sequence = 0;
  std::uint16_t message_bytes = 0;
  std::uint16_t zero = 0;
  DataId data{};
  std::uint64_t bytes = 0;
  std::array<char, longest_service_message> message{};
};
static_assert(sizeof(AnswerPacket) == service_answer_bytes &&
              std::is_trivially_copyable_v<AnswerPacket>);

/// The last one that there is.
constexpr auto last_code = static_cast<std::uint16_t>(ErrorCode::data_elsewhere);

template <typename P>
std::string as_packet(const P& packet) {
  return {reinterpret_cast<const char*>(&packet), sizeof(packet)};
}

/// Nothing: another size, or version.
template <typename P>
std::optional<P> read_packet(std::string_view text) {
  P packet;
  if (text.size() != sizeof(packet)) return std::nullopt;
  std::memcpy(&packet, text.data(), text.size());
  if (packet.version != service_version || packet.zero != 0) return std::nullopt;
  return packet;
}

/// Nothing: it is longer than its room, or something is behind it.
template <std::size_t most>
std::optional<std::string> read_text(const std::array<char, most>& room, std::size_t bytes) {
  if (bytes > most) return std::nullopt;
  const auto end = room.begin() + static_cast<std::ptrdiff_t>(bytes);
  if (std::any_of(end, room.end(), [](char c) { return c != 0; })) return std::nullopt;
  return std::string(room.begin(), end);
}

}  // namespace

std::string encode(const ServiceRequest& request) {
  assert(request.name.size() <= longest_service_name && request.sequence != 0);
  RequestPacket packet{.ask = static_cast<std::uint16_t>(request.ask),
                       .name_bytes = static_cast<std::uint16_t>(request.name.size()),
                       .sequence = request.sequence,
                       .data = request.data,
                       .bytes = request.bytes};
  std::ranges::copy(request.name, packet.name.begin());
  return as_packet(packet);
}

std::string encode(const ServiceAnswer& answer) {
  const std::string_view message =
      std::string_view(answer.message).substr(0, longest_service_message);
  AnswerPacket packet{.verdict = static_cast<std::uint16_t>(answer.verdict),
                      .code = static_cast<std::uint16_t>(answer.code),
                      .sequence = answer.sequence,
                      .message_bytes = static_cast<std::uint16_t>(message.size()),
                      .data = answer.data,
                      .bytes = answer.bytes};
  std::ranges::copy(message, packet.message.begin());
  return as_packet(packet);
}

std::optional<ServiceRequest> parse_service_request(std::string_view text) {
  const auto packet = read_packet<RequestPacket>(text);
  if (!packet || packet->sequence == 0) return std::nullopt;
  const bool known = packet->ask >= static_cast<std::uint16_t>(ServiceAsk::open_data) &&
                     packet->ask <= static_cast<std::uint16_t>(ServiceAsk::locate_data);
  auto name = read_text(packet->name, packet->name_bytes);
  if (!known || !name) return std::nullopt;
  return ServiceRequest{.ask = static_cast<ServiceAsk>(packet->ask),
                        .sequence = packet->sequence,
                        .data = packet->data,
                        .bytes = packet->bytes,
                        .name = std::move(*name)};
}

std::optional<ServiceAnswer> parse_service_answer(std::string_view text) {
  const auto packet = read_packet<AnswerPacket>(text);
  if (!packet || packet->code > last_code) return std::nullopt;
  const bool known = packet->verdict >= static_cast<std::uint16_t>(ServiceVerdict::done) &&
                     packet->verdict <= static_cast<std::uint16_t>(ServiceVerdict::again);
  auto message = read_text(packet->message, packet->message_bytes);
  if (!known || !message) return std::nullopt;
  return ServiceAnswer{.verdict = static_cast<ServiceVerdict>(packet->verdict),
                       .sequence = packet->sequence,
                       .data = packet->data,
                       .bytes = packet->bytes,
                       .code = static_cast<ErrorCode>(packet->code),
                       .message = std::move(*message)};
}

}  // namespace orchid
