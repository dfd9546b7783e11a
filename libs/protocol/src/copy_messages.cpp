#include "protocol/copy_messages.h"

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "foundation/json_document.h"

namespace orchid {
namespace {

using Json = nlohmann::json;

constexpr std::size_t copy_key_digits = 32;
constexpr std::size_t longest_copy_address = 512;
constexpr std::uint64_t most_copy_bytes = 1ULL << 62;
constexpr std::uint64_t longest_copy_ms =
    1000ULL * 86'400 * 36'500;  // as in the control connection

struct CopyEncoder {
  Json operator()(const CopySend& m) const {
    return {{"type", "send"},
            {"key", m.key},
            {"address", m.address},
            {"bytes", m.bytes.value},
            {"within_ms", m.within.count()},
            {"patience_ms", m.patience.count()}};
  }
  Json operator()(const CopyTake& m) const {
    return {{"type", "take"},
            {"key", m.key},
            {"address", m.address},
            {"bytes", m.bytes.value},
            {"within_ms", m.within.count()},
            {"patience_ms", m.patience.count()}};
  }
  Json operator()(const CopyPush& m) const {
    return {{"type", "push"},
            {"key", m.key},
            {"address", m.address},
            {"bytes", m.bytes.value},
            {"within_ms", m.within.count()}};
  }
  Json operator()(const CopyPull& m) const {
    return {{"type", "pull"},
            {"key", m.key},
            {"address", m.address},
            {"bytes", m.bytes.value},
            {"begin", m.begin},
            {"length", m.length},
            {"within_ms", m.within.count()}};
  }
  Json operator()(const CopyFetch& m) const {
    return {{"type", "fetch"},        {"key", m.key},         {"address", m.address},
            {"bytes", m.bytes.value}, {"have", m.have.value}, {"within_ms", m.within.count()}};
  }
  Json operator()(const CopyStop&) const { return {{"type", "stop"}}; }
  Json operator()(const CopyListening& m) const {
    return {{"type", "listening"}, {"address", m.address}};
  }
  Json operator()(const CopyMet&) const { return {{"type", "met"}}; }
  Json operator()(const CopyDone&) const { return {{"type", "done"}}; }
  Json operator()(const CopyFailed& m) const {
    return {{"type", "failed"},
            {"code", to_string(m.code)},
            {"message", m.message},
            {"have", m.have.value}};
  }
};

ByteCount copy_bytes(const JsonObject& f, const char* key) {
  return ByteCount{f.number<std::uint64_t>(key, {.most = most_copy_bytes})};
}

std::chrono::milliseconds copy_time(const JsonObject& f, const char* key) {
  return std::chrono::milliseconds(f.number<std::uint64_t>(key, {.most = longest_copy_ms}));
}

/// What all orders have.
template <typename Order>
Order read_copy_order(const JsonObject& f) {
  Order order;
  order.key = f.text("key", copy_key_digits);
  order.address = f.text("address", longest_copy_address);
  order.bytes = copy_bytes(f, "bytes");
  order.within = copy_time(f, "within_ms");
  if constexpr (requires { order.patience; }) order.patience = copy_time(f, "patience_ms");
  return order;
}

CopyPull read_copy_pull(const JsonObject& f) {
  auto pull = read_copy_order<CopyPull>(f);
  pull.begin = copy_bytes(f, "begin").value;
  pull.length = copy_bytes(f, "length").value;
  if (pull.begin > pull.bytes.value || pull.length > pull.bytes.value - pull.begin)
    f.fault("length", "must not go beyond 'bytes'");
  return pull;
}

std::optional<CopyMessage> read_copy_order(const JsonObject& f, std::string_view type) {
  if (type == "send") return read_copy_order<CopySend>(f);
  if (type == "take") return read_copy_order<CopyTake>(f);
  if (type == "push") return read_copy_order<CopyPush>(f);
  if (type == "pull") return read_copy_pull(f);
  if (type == "fetch") {
    auto fetch = read_copy_order<CopyFetch>(f);
    fetch.have = copy_bytes(f, "have");
    if (fetch.have.value > fetch.bytes.value) f.fault("have", "must not be more than 'bytes'");
    return fetch;
  }
  return std::nullopt;
}

std::optional<CopyMessage> read_copy_message(const JsonObject& f, std::string_view type) {
  if (auto order = read_copy_order(f, type)) return order;
  if (type == "stop") return CopyStop{};
  if (type == "listening") return CopyListening{f.text("address", longest_copy_address)};
  if (type == "met") return CopyMet{};
  if (type == "done") return CopyDone{};
  if (type == "failed")
    return CopyFailed{.code = f.parsed("code", parse_error_code),
                      .message = f.text("message"),
                      .have = copy_bytes(f, "have")};
  return std::nullopt;
}

}  // namespace

std::string encode(const CopyMessage& message) {
  return dump_json(std::visit(CopyEncoder{}, message));
}

Result<CopyMessage> parse_copy_message(std::string_view text) {
  JsonDocument document(text, {.subject = "the message"});
  const std::string type = document.type();
  const JsonObject f = document.root();
  auto message = read_copy_message(f, type);
  if (!message) f.fault("type", "is unknown");
  return document.finish(std::move(message).value_or(CopyDone{}));
}

}  // namespace orchid
