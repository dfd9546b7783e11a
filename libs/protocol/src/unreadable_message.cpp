#include <utility>

#include "foundation/json_document.h"
#include "protocol/control_messages.h"

namespace orchid {
namespace {

/// What the sender of such a message waits for. Of others nobody waits for an answer, or whoever
/// does has a time limit.
std::optional<ControlMessage> refusal_of(const JsonObject& f, std::string_view type,
                                         const std::string& why) {
  constexpr ErrorCode code = ErrorCode::unsupported;
  const auto lease = [&] { return f.parsed("lease", parse_lease_id); };
  const auto data = [&] { return f.parsed("data", parse_data_id); };
  const auto number = [&](const char* key) { return f.number<std::uint64_t>(key); };
  if (type == "open_lease") return LeaseRefused{lease(), code, why};
  if (type == "make_data") return DataRefused{data(), code, why};
  if (type == "offer_data") return DataNotOffered{data(), number("transfer"), code, why};
  if (type == "fetch_data" || type == "receive_data")
    return DataNotFetched{
        .data = data(), .transfer = number("transfer"), .have = {}, .code = code, .message = why};
  if (type == "digest_data") return DataNotDigested{data(), code, why};
  if (type == "file_data") return DataNotFiled{data(), code, why};
  if (type == "find_data" || type == "publish_data")
    return DataDeclined{number("question"), code, why};
  if (type == "spare_for") return DataSpared{number("question"), false};
  if (type == "find_memory") return MemoryNotFound{number("question"), code, why};
  return std::nullopt;
}

}  // namespace

std::optional<UnreadableMessage> unreadable_message(std::string_view text, const Failure& why) {
  if (why.code == ErrorCode::too_large) return std::nullopt;
  JsonDocument envelope(text);
  const std::string type = envelope.type();
  UnreadableMessage message{.sequence = envelope.root().number<std::uint64_t>("seq", {.least = 1}),
                            .ack = envelope.root().number<std::uint64_t>("ack")};
  if (!envelope.finish()) return std::nullopt;
  // Another one: whose answer it is may be what cannot be read.
  const JsonDocument content(text);
  auto refusal = refusal_of(content.root(), type,
                            "it cannot read what it was sent (" + why.message +
                                "): install the same release of Orchid on both sides");
  if (content.finish()) message.refusal = std::move(refusal);
  return message;
}

}  // namespace orchid
