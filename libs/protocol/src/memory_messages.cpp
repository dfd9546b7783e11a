#include "protocol/memory_messages.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "data_json.h"
#include "memory_json.h"
#include "protocol/control_messages.h"

namespace orchid {
namespace {

using Json = nlohmann::json;

constexpr std::size_t memory_key_digits = 32;
constexpr std::size_t longest_memory_address = 512;
constexpr std::uint64_t most_memory_bytes = 1ULL << 50;
constexpr std::uint64_t most_memory_time_ms = 1000ULL * 86'400 * 366;

Json of_memory(std::string_view type, LeaseId lease) {
  return {{"type", type}, {"lease", to_string(lease)}};
}

template <typename Lease>
void describe_memory(Json& json, const Lease& m) {
  json["tenant"] = to_json(m.tenant);
  json["bytes"] = m.bytes.value;
  json["wait"] = to_string(m.wait);
  json["expires_in_ms"] = m.expires_in.count();
}

struct MemoryEncoder {
  Json operator()(const LeaseMemory& m) const {
    Json json = of_memory("lease_memory", m.lease);
    describe_memory(json, m);
    json["key"] = m.key;
    return json;
  }
  Json operator()(const RenewMemory& m) const {
    Json json = of_memory("renew_memory", m.lease);
    json["expires_in_ms"] = m.expires_in.count();
    return json;
  }
  Json operator()(const EndMemory& m) const { return of_memory("end_memory", m.lease); }
  Json operator()(const MemoryLeased& m) const {
    Json json = of_memory("memory_leased", m.lease);
    json["address"] = m.address;
    json["key"] = m.key;
    return json;
  }
  Json operator()(const MemoryRefused& m) const {
    Json json = of_memory("memory_refused", m.lease);
    json["code"] = to_string(m.code);
    json["message"] = m.message;
    return json;
  }
  Json operator()(const MemoryEnded& m) const {
    Json json = of_memory("memory_ended", m.lease);
    json["reason"] = to_string(m.reason);
    return json;
  }
  Json operator()(const FindMemory& m) const {
    Json json = of_memory("find_memory", m.lease);
    json["question"] = m.question;
    json["tenant"] = to_json(m.tenant);
    return json;
  }
  Json operator()(const MemoryFound& m) const {
    return {{"type", "memory_found"}, {"question", m.question}, {"address", m.address},
            {"key", m.key},           {"bytes", m.bytes.value}, {"wait", to_string(m.wait)},
            {"host", m.host}};
  }
  Json operator()(const MemoryNotFound& m) const {
    return {{"type", "memory_not_found"},
            {"question", m.question},
            {"code", to_string(m.code)},
            {"message", m.message}};
  }
};

std::chrono::milliseconds parse_memory_time(const JsonObject& f) {
  return std::chrono::milliseconds(
      f.number<std::uint64_t>("expires_in_ms", {.most = most_memory_time_ms}));
}

ByteCount parse_memory_bytes(const JsonObject& f) {
  return ByteCount{f.number<std::uint64_t>("bytes", {.least = 1, .most = most_memory_bytes})};
}

template <typename Lease>
void parse_memory(const JsonObject& f, Lease& m) {
  m.tenant = parse_tenant(f);
  m.bytes = parse_memory_bytes(f);
  m.wait = f.parsed("wait", parse_wait_mode);
  m.expires_in = parse_memory_time(f);
}

std::string parse_memory_key(const JsonObject& f) {
  std::string key = f.text("key", memory_key_digits);
  if (key.size() != memory_key_digits ||
      key.find_first_not_of("0123456789abcdef") != std::string::npos)
    f.fault("key", "must have 32 hexadecimal digits");
  return key;
}

/// What calls ask, and what they are answered.
std::optional<MemoryLeaseMessage> parse_memory_question(const JsonObject& f,
                                                        std::string_view type) {
  const auto question = [&] { return f.number<std::uint64_t>("question"); };
  if (type == "find_memory")
    return FindMemory{question(), parse_tenant(f), f.parsed("lease", parse_lease_id)};
  if (type == "memory_found")
    return MemoryFound{.question = question(),
                       .address = f.text("address", longest_memory_address),
                       .key = parse_memory_key(f),
                       .bytes = parse_memory_bytes(f),
                       .wait = f.parsed("wait", parse_wait_mode),
                       .host = f.text("host")};
  if (type == "memory_not_found")
    return MemoryNotFound{question(), f.parsed("code", parse_error_code), f.text("message")};
  return std::nullopt;
}

}  // namespace

Json to_json(const MemoryLeaseMessage& message) { return std::visit(MemoryEncoder{}, message); }

std::optional<MemoryLeaseMessage> parse_memory_lease_message(const JsonObject& f,
                                                             std::string_view type) {
  const auto lease = [&] { return f.parsed("lease", parse_lease_id); };
  if (type == "lease_memory") {
    LeaseMemory m{.lease = lease()};
    parse_memory(f, m);
    m.key = parse_memory_key(f);
    return m;
  }
  if (type == "renew_memory") return RenewMemory{lease(), parse_memory_time(f)};
  if (type == "end_memory") return EndMemory{lease()};
  if (type == "memory_leased")
    return MemoryLeased{lease(), f.text("address", longest_memory_address), parse_memory_key(f)};
  if (type == "memory_refused")
    return MemoryRefused{lease(), f.parsed("code", parse_error_code), f.text("message")};
  if (type == "memory_ended") return MemoryEnded{lease(), f.parsed("reason", parse_lease_end)};
  return parse_memory_question(f, type);
}

Json to_json(const std::vector<MemoryHeld>& held) {
  Json list = Json::array();
  for (const MemoryHeld& one : held) {
    Json json{{"lease", to_string(one.lease)}, {"address", one.address}};
    describe_memory(json, one);
    list.push_back(std::move(json));
  }
  return list;
}

std::vector<MemoryHeld> parse_memory_held(const std::vector<JsonObject>& list) {
  std::vector<MemoryHeld> held;
  held.reserve(list.size());
  for (const JsonObject& f : list) {
    MemoryHeld one{.lease = f.parsed("lease", parse_lease_id),
                   .address = f.text("address", longest_memory_address)};
    parse_memory(f, one);
    held.push_back(std::move(one));
  }
  return held;
}

}  // namespace orchid
