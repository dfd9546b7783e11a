#include "protocol/memory_access.h"

#include <cassert>
#include <type_traits>

namespace orchid {
namespace {

constexpr std::uint32_t memory_access_version = 1;

/// In the byte order of the host: both ends are on it.
struct AccessHead {
  std::uint32_t version = memory_access_version;
  std::uint16_t ask = 0;
  std::uint16_t zero = 0;
  std::uint32_t sequence = 0;
  std::uint32_t bytes = 0;
  std::uint64_t offset = 0;
  std::uint64_t operand_or_row = 0;
  std::uint64_t expected_or_stride = 0;
};
static_assert(sizeof(AccessHead) == 40 && std::is_trivially_copyable_v<AccessHead>);

struct AnswerHead {
  std::uint32_t version = memory_access_version;
  std::uint16_t verdict = 0;
  std::uint16_t code = 0;
  std::uint32_t sequence = 0;
  std::uint16_t message_bytes = 0;
  std::uint16_t zero = 0;
  std::uint64_t before = 0;
};
static_assert(sizeof(AnswerHead) == 24 && std::is_trivially_copyable_v<AnswerHead>);

/// The last one that there is.
constexpr auto last_answer_code = static_cast<std::uint16_t>(ErrorCode::data_elsewhere);

template <typename Head>
std::string as_packet(const Head& head, std::string_view bytes) {
  std::string packet;
  packet.reserve(sizeof(head) + bytes.size());
  packet.append(reinterpret_cast<const char*>(&head), sizeof(head));
  packet.append(bytes);
  return packet;
}

/// Nothing: it is shorter than a head, or of another version.
template <typename Head>
std::optional<Head> read_head(std::string_view packet) {
  Head head;
  if (packet.size() < sizeof(head)) return std::nullopt;
  packet.copy(reinterpret_cast<char*>(&head), sizeof(head));
  if (head.version != memory_access_version || head.zero != 0 || head.sequence == 0)
    return std::nullopt;
  return head;
}

bool moves_bytes(MemoryAsk ask) { return ask == MemoryAsk::put || ask == MemoryAsk::get; }

AccessHead head_of(const MemoryAccess& access) {
  assert(access.sequence != 0 && access.bytes <= memory_access_part);
  const bool moves = moves_bytes(access.ask);
  return {.ask = static_cast<std::uint16_t>(access.ask),
          .sequence = access.sequence,
          .bytes = static_cast<std::uint32_t>(access.bytes),
          .offset = access.offset,
          .operand_or_row = moves ? access.row : access.operand,
          .expected_or_stride = moves ? access.stride : access.expected};
}

/// From 1 byte to a part, in whole rows.
bool may_be_moved(const AccessHead& head) {
  return head.bytes >= 1 && head.bytes <= memory_access_part &&
         (head.operand_or_row == 0 || head.bytes % head.operand_or_row == 0);
}

}  // namespace

std::string encode(const MemoryAccess& access, std::string_view bytes) {
  assert(bytes.size() == (access.ask == MemoryAsk::put ? access.bytes : 0));
  return as_packet(head_of(access), bytes);
}

std::string encode_head(const MemoryAccess& access) { return as_packet(head_of(access), {}); }

std::string encode(const MemoryAnswer& answer, std::string_view bytes) {
  const bool done = answer.verdict == MemoryVerdict::done;
  const std::string_view message =
      std::string_view(answer.message).substr(0, done ? 0 : longest_memory_message);
  return as_packet(AnswerHead{.verdict = static_cast<std::uint16_t>(answer.verdict),
                              .code = static_cast<std::uint16_t>(answer.code),
                              .sequence = answer.sequence,
                              .message_bytes = static_cast<std::uint16_t>(message.size()),
                              .before = answer.before},
                   done ? bytes : message);
}

std::optional<MemoryPacket<MemoryAccess>> parse_memory_access(std::string_view packet) {
  const auto head = read_head<AccessHead>(packet);
  if (!head || head->ask < static_cast<std::uint16_t>(MemoryAsk::put) ||
      head->ask > static_cast<std::uint16_t>(MemoryAsk::fence))
    return std::nullopt;
  const auto ask = static_cast<MemoryAsk>(head->ask);
  const std::string_view bytes = packet.substr(sizeof(AccessHead));
  const bool moves = moves_bytes(ask);
  const bool fits = moves ? may_be_moved(*head) : head->bytes == 0;
  if (!fits || bytes.size() != (ask == MemoryAsk::put ? head->bytes : 0)) return std::nullopt;
  return MemoryPacket<MemoryAccess>{{.ask = ask,
                                     .sequence = head->sequence,
                                     .offset = head->offset,
                                     .bytes = head->bytes,
                                     .row = moves ? head->operand_or_row : 0,
                                     .stride = moves ? head->expected_or_stride : 0,
                                     .operand = moves ? 0 : head->operand_or_row,
                                     .expected = moves ? 0 : head->expected_or_stride},
                                    bytes};
}

std::optional<MemoryPacket<MemoryAnswer>> parse_memory_answer(std::string_view packet,
                                                              std::size_t bytes) {
  const auto head = read_head<AnswerHead>(packet);
  if (!head || head->code > last_answer_code ||
      head->verdict < static_cast<std::uint16_t>(MemoryVerdict::done) ||
      head->verdict > static_cast<std::uint16_t>(MemoryVerdict::unknown))
    return std::nullopt;
  const auto verdict = static_cast<MemoryVerdict>(head->verdict);
  const std::string_view rest = packet.substr(sizeof(AnswerHead));
  const bool done = verdict == MemoryVerdict::done;
  if (head->message_bytes > longest_memory_message || (done && head->message_bytes != 0) ||
      rest.size() != (done ? bytes : head->message_bytes))
    return std::nullopt;
  return MemoryPacket<MemoryAnswer>{{.verdict = verdict,
                                     .sequence = head->sequence,
                                     .before = head->before,
                                     .code = static_cast<ErrorCode>(head->code),
                                     .message = std::string(done ? std::string_view() : rest)},
                                    done ? rest : std::string_view()};
}

}  // namespace orchid
