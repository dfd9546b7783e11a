#include "protocol/grant_messages.h"

#include <algorithm>

#include "json_fields.h"

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
CoreList parse_cores(JsonFields& f) {
  CoreList cores = f.numbers("cores");
  std::ranges::sort(cores);
  if (std::ranges::adjacent_find(cores) != cores.end()) f.fault<int>("cores", "names a core twice");
  if (!cores.empty() && cores.back() > highest_core)
    f.fault<int>("cores", "names a core beyond 65535");
  return cores;
}

seconds parse_seconds(JsonFields& f, const char* name, std::uint64_t longest) {
  const auto count = f.number<std::uint64_t>(name);
  if (count == 0 || count > longest) return seconds(f.fault<int>(name, "is out of range"));
  return seconds(count);
}

/// 0 is none.
ByteCount parse_amount(JsonFields& f, const char* name) {
  const ByteCount amount{f.number<std::uint64_t>(name)};
  if (amount.value != 0 && amount < 64_MiB) f.fault<int>(name, "must be 64 MiB or more, or 0");
  return amount;
}

GrantOffer parse_offer(JsonFields& f) {
  GrantOffer m;
  m.protocol = f.number<std::uint32_t>("protocol");
  if (m.protocol != grant_protocol_version)
    f.fault<int>("protocol", "must be 1: install the same release of Orchid everywhere");
  m.source = f.parsed("source", parse_grant_source);
  if (m.source == GrantSource::local) f.fault<int>("source", "must be pilot or share");
  m.job = f.number<std::uint64_t>("job");
  if (m.job == 0) f.fault<int>("job", "must be the number of a job");
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

}  // namespace

std::string encode(const GrantMessage& message) {
  return std::visit([](const auto& m) { return dump_json(to_json(m)); }, message);
}

Result<GrantMessage> parse_grant_message(std::string_view text) {
  auto fields = JsonFields::parse(text);
  if (!fields) return fail(std::move(fields.error()));
  JsonFields& f = *fields;
  const std::string& type = f.type();
  if (type == "offer") return f.finish<GrantMessage>(parse_offer(f));
  if (type == "leave") return GrantMessage(GrantLeave{});
  if (type == "taken") {
    GrantTaken m{.executor = f.number<std::int64_t>("executor"), .cores = parse_cores(f)};
    return f.finish<GrantMessage>(std::move(m));
  }
  if (type == "refused") {
    GrantRefused m{.code = f.parsed("code", parse_error_code), .message = f.text("message")};
    return f.finish<GrantMessage>(std::move(m));
  }
  if (type == "clear") {
    GrantClear m{.in_order = f.flag("in_order"), .message = f.text("message")};
    return f.finish<GrantMessage>(std::move(m));
  }
  return fail(ErrorCode::bad_request, "a grant message of an unknown type; upgrade the older side");
}

}  // namespace orchid
