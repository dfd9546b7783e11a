#include "copy/messages.h"

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "foundation/json_document.h"

namespace orchid::executor {
namespace {

using Json = nlohmann::json;

constexpr std::size_t key_digits = 32;
constexpr std::size_t longest_address = 512;
constexpr std::uint64_t most_bytes = 1ULL << 62;
constexpr std::uint64_t longest_ms = 1000ULL * 86'400 * 36'500;  // as in the control connection

struct Encoder {
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
    return {{"type", "pull"},         {"key", m.key},     {"address", m.address},
            {"bytes", m.bytes.value}, {"begin", m.begin}, {"length", m.length},
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

ByteCount bytes_of(const JsonObject& f, const char* key) {
  return ByteCount{f.number<std::uint64_t>(key, {.most = most_bytes})};
}

std::chrono::milliseconds time_of(const JsonObject& f, const char* key) {
  return std::chrono::milliseconds(f.number<std::uint64_t>(key, {.most = longest_ms}));
}

/// What all orders have.
template <typename Order>
Order read_order(const JsonObject& f) {
  Order order;
  order.key = f.text("key", key_digits);
  order.address = f.text("address", longest_address);
  order.bytes = bytes_of(f, "bytes");
  order.within = time_of(f, "within_ms");
  if constexpr (requires { order.patience; }) order.patience = time_of(f, "patience_ms");
  return order;
}

CopyPull read_pull(const JsonObject& f) {
  auto pull = read_order<CopyPull>(f);
  pull.begin = bytes_of(f, "begin").value;
  pull.length = bytes_of(f, "length").value;
  if (pull.begin > pull.bytes.value || pull.length > pull.bytes.value - pull.begin)
    f.fault("length", "must not go beyond 'bytes'");
  return pull;
}

std::optional<CopyMessage> read_order(const JsonObject& f, std::string_view type) {
  if (type == "send") return read_order<CopySend>(f);
  if (type == "take") return read_order<CopyTake>(f);
  if (type == "push") return read_order<CopyPush>(f);
  if (type == "pull") return read_pull(f);
  if (type == "fetch") {
    auto fetch = read_order<CopyFetch>(f);
    fetch.have = bytes_of(f, "have");
    if (fetch.have.value > fetch.bytes.value) f.fault("have", "must not be more than 'bytes'");
    return fetch;
  }
  return std::nullopt;
}

std::optional<CopyMessage> read(const JsonObject& f, std::string_view type) {
  if (auto order = read_order(f, type)) return order;
  if (type == "stop") return CopyStop{};
  if (type == "listening") return CopyListening{f.text("address", longest_address)};
  if (type == "met") return CopyMet{};
  if (type == "done") return CopyDone{};
  if (type == "failed")
    return CopyFailed{.code = f.parsed("code", parse_error_code),
                      .message = f.text("message"),
                      .have = bytes_of(f, "have")};
  return std::nullopt;
}

}  // namespace

std::string encode(const CopyMessage& message) { return dump_json(std::visit(Encoder{}, message)); }

Result<CopyMessage> parse_copy_message(std::string_view text) {
  JsonDocument document(text, {.subject = "the message"});
  const std::string type = document.type();
  const JsonObject f = document.root();
  auto message = read(f, type);
  if (!message) f.fault("type", "is unknown");
  return document.finish(std::move(message).value_or(CopyDone{}));
}

}  // namespace orchid::executor
