#include "protocol/grant_messages.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "foundation/json_document.h"

namespace orchid {
namespace {

using Json = nlohmann::json;
using std::chrono::seconds;

constexpr std::uint64_t longest_grant_s = 366ULL * 86'400;
constexpr std::uint64_t longest_grace_s = 86'400;

Json to_json(const GrantOffer& m) {
  Json json{{"type", "offer"},
            {"protocol", m.protocol},
            {"source", to_string(m.source)},
            {"job", m.job},
            {"users", to_string(m.users)},
            {"cores", m.cores},
            {"memory_bytes", m.memory.value},
            {"gateway_grace_s", m.gateway_grace.count()},
            {"gives_way", m.gives_way},
            {"bandwidth_cap", m.bandwidth_cap.value},
            {"feed", m.feed}};
  if (m.ends_in) json["ends_in_s"] = m.ends_in->count();
  return json;
}
Json to_json(const GrantTaken& m) {
  return {{"type", "taken"}, {"executor", m.executor}, {"cores", m.cores}};
}
Json to_json(const GrantRefused& m) {
  return {{"type", "refused"}, {"code", to_string(m.code)}, {"message", m.message}};
}
Json to_json(const GrantLeave&) { return {{"type", "leave"}}; }
Json to_json(const GrantClear& m) {
  return {{"type", "clear"}, {"in_order", m.in_order}, {"message", m.message}};
}

/// Sorted, each number once.
CoreList parse_cores(const JsonObject& f) {
  CoreList cores = f.numbers("cores");
  std::ranges::sort(cores);
  if (std::ranges::adjacent_find(cores) != cores.end()) f.fault("cores", "names a core twice");
  if (!cores.empty() && cores.back() > highest_core) f.fault("cores", "names a core beyond 65535");
  return cores;
}

seconds parse_seconds(const JsonObject& f, const char* name, std::uint64_t longest) {
  return seconds(f.number<std::uint64_t>(name, {.least = 1, .most = longest}));
}

/// 0 is none.
ByteCount parse_amount(const JsonObject& f, const char* name) {
  const ByteCount amount{f.number<std::uint64_t>(name)};
  if (amount.value != 0 && amount < 64_MiB) f.fault(name, "must be 64 MiB or more, or 0");
  return amount;
}

GrantOffer parse_offer(const JsonObject& f) {
  GrantOffer m;
  m.protocol = f.number<std::uint32_t>("protocol");
  if (m.protocol != grant_protocol_version)
    f.fault("protocol", "must be 1: install the same release of Orchid everywhere");
  m.source = f.parsed("source", parse_grant_source);
  if (m.source == GrantSource::local) f.fault("source", "must be pilot or share");
  m.job = f.number<std::uint64_t>("job", {.least = 1});
  m.users = f.parsed("users", parse_grant_users);
  m.cores = parse_cores(f);
  m.memory = parse_amount(f, "memory_bytes");
  if (f.has("ends_in_s")) m.ends_in = parse_seconds(f, "ends_in_s", longest_grant_s);
  m.gateway_grace = parse_seconds(f, "gateway_grace_s", longest_grace_s);
  m.gives_way = f.flag("gives_way");
  m.bandwidth_cap = parse_amount(f, "bandwidth_cap");
  m.feed = f.flag("feed");
  return m;
}

GrantMessage read_grant_message(const JsonObject& f, std::string_view type) {
  if (type == "offer") return parse_offer(f);
  if (type == "leave") return GrantLeave{};
  if (type == "taken")
    return GrantTaken{.executor = f.number<std::int64_t>("executor"), .cores = parse_cores(f)};
  if (type == "refused")
    return GrantRefused{.code = f.parsed("code", parse_error_code), .message = f.text("message")};
  if (type == "clear")
    return GrantClear{.in_order = f.flag("in_order"), .message = f.text("message")};
  f.fault("type", "is unknown; upgrade the older side");
  return {};
}

}  // namespace

std::string encode(const GrantMessage& message) {
  return std::visit([](const auto& m) { return dump_json(to_json(m)); }, message);
}

Result<GrantMessage> parse_grant_message(std::string_view text) {
  JsonDocument document(text, {.subject = "the message"});
  const std::string type = document.type();
  return document.finish(read_grant_message(document.root(), type));
}

}  // namespace orchid
