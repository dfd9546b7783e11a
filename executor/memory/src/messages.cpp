#include "memory/messages.h"

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "foundation/json_document.h"

namespace orchid::executor {
namespace {

using Json = nlohmann::json;

constexpr std::size_t key_digits = 32;
constexpr std::size_t longest_address = 512;
constexpr std::uint64_t most_bytes = 1ULL << 50;

struct MemoryEncoder {
  Json operator()(const MemoryServe& m) const {
    return {{"type", "serve"},
            {"key", m.key},
            {"address", m.address},
            {"bytes", m.bytes.value},
            {"wait", to_string(m.wait)}};
  }
  Json operator()(const MemoryReach& m) const {
    return {{"type", "reach"},           {"key", m.key},
            {"address", m.address},      {"bytes", m.bytes.value},
            {"wait", to_string(m.wait)}, {"host", m.host}};
  }
  Json operator()(const MemoryFate& m) const { return {{"type", "fate"}, {"ended", m.ended}}; }
  Json operator()(const MemoryListening& m) const {
    return {{"type", "listening"}, {"address", m.address}};
  }
  Json operator()(const MemoryConnected&) const { return {{"type", "connected"}}; }
  Json operator()(const MemoryLost&) const { return {{"type", "lost"}}; }
  Json operator()(const MemoryLeft&) const { return {{"type", "left"}}; }
  Json operator()(const MemoryFailed& m) const {
    return {{"type", "failed"}, {"code", to_string(m.code)}, {"message", m.message}};
  }
};

std::optional<MemoryMessage> read(const JsonObject& f, std::string_view type) {
  const auto bytes = [&] {
    return ByteCount{f.number<std::uint64_t>("bytes", {.least = 1, .most = most_bytes})};
  };
  if (type == "serve")
    return MemoryServe{.key = f.text("key", key_digits),
                       .address = f.text("address", longest_address),
                       .bytes = bytes(),
                       .wait = f.parsed("wait", parse_wait_mode)};
  if (type == "reach")
    return MemoryReach{.key = f.text("key", key_digits),
                       .address = f.text("address", longest_address),
                       .bytes = bytes(),
                       .wait = f.parsed("wait", parse_wait_mode),
                       .host = f.text("host")};
  if (type == "fate") return MemoryFate{f.flag("ended")};
  if (type == "listening") return MemoryListening{f.text("address", longest_address)};
  if (type == "connected") return MemoryConnected{};
  if (type == "lost") return MemoryLost{};
  if (type == "left") return MemoryLeft{};
  if (type == "failed")
    return MemoryFailed{.code = f.parsed("code", parse_error_code), .message = f.text("message")};
  return std::nullopt;
}

}  // namespace

std::string encode(const MemoryMessage& message) {
  return dump_json(std::visit(MemoryEncoder{}, message));
}

Result<MemoryMessage> parse_memory_message(std::string_view text) {
  JsonDocument document(text, {.subject = "the message"});
  const std::string type = document.type();
  const JsonObject f = document.root();
  auto message = read(f, type);
  if (!message) f.fault("type", "is unknown");
  return document.finish(std::move(message).value_or(MemoryLeft{}));
}

}  // namespace orchid::executor
