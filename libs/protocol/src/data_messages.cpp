#include "protocol/data_messages.h"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "data_json.h"
#include "name_list.h"
#include "protocol/names.h"

namespace orchid {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::string_view, 5> data_end_names{"deleted", "expired", "evicted",
                                                         "unfinished", "unknown"};
constexpr std::size_t data_secret_digits = 64;
/// More than any host has, and so little that those of many executors can be added up.
constexpr std::uint64_t most_data_bytes = 1ULL << 50;
constexpr std::uint64_t most_data_version = 1ULL << 53;
constexpr std::uint64_t most_data_order = 1ULL << 62;
constexpr std::uint64_t most_data_time_ms = 1000ULL * 86'400 * 36'500;  // a hundred years

Json with_data_id(std::string_view type, const DataId& data) {
  return {{"type", type}, {"data", to_string(data)}};
}

void describe_data(Json& json, const DataTerms& terms) {
  json["tenant"] = to_json(terms.tenant);
  json["bytes"] = terms.bytes.value;
  json["name"] = terms.name;
  json["version"] = terms.version;
  json["secret"] = terms.secret;
  if (terms.holder_uid) json["holder_uid"] = *terms.holder_uid;
  if (terms.expires_in) json["expires_in_ms"] = terms.expires_in->count();
}

struct DataEncoder {
  Json operator()(const MakeData& m) const {
    Json json = with_data_id("make_data", m.data);
    describe_data(json, m.terms);
    json["write_within_ms"] = m.write_within.count();
    return json;
  }
  Json operator()(const SealData& m) const {
    Json json = with_data_id("seal_data", m.data);
    if (m.expires_in) json["expires_in_ms"] = m.expires_in->count();
    json["order"] = m.order;
    return json;
  }
  Json operator()(const DropData& m) const { return with_data_id("drop_data", m.data); }
  Json operator()(const DataMade& m) const { return with_data_id("data_made", m.data); }
  Json operator()(const DataRefused& m) const {
    Json json = with_data_id("data_refused", m.data);
    json["code"] = to_string(m.code);
    json["message"] = m.message;
    return json;
  }
  Json operator()(const DataSealed& m) const {
    Json json = with_data_id("data_sealed", m.data);
    json["bytes"] = m.bytes.value;
    return json;
  }
  Json operator()(const DataDropped& m) const {
    Json json = with_data_id("data_dropped", m.data);
    json["reason"] = to_string(m.reason);
    return json;
  }
};

std::chrono::milliseconds parse_data_time(const JsonObject& f, const char* key) {
  return std::chrono::milliseconds(f.number<std::uint64_t>(key, {.most = most_data_time_ms}));
}

std::uint64_t parse_data_order(const JsonObject& f) {
  return f.number<std::uint64_t>("order", {.most = most_data_order});
}

ByteCount parse_data_bytes(const JsonObject& f, const char* key) {
  return ByteCount{f.number<std::uint64_t>(key, {.most = most_data_bytes})};
}

DataTerms parse_data_terms(const JsonObject& f) {
  DataTerms terms;
  terms.tenant = parse_tenant(f);
  terms.bytes = parse_data_bytes(f, "bytes");
  terms.name = f.text("name");
  if (!terms.name.empty() && !check_function_name(terms.name))
    f.fault("name", "must be a letter, then letters, digits, '-' and '_', at most 64 in all");
  terms.version = f.number<std::uint64_t>("version", {.most = most_data_version});
  if (terms.version == 0 && !terms.name.empty()) f.fault("version", "must be 1 at least");
  terms.secret = f.text("secret", data_secret_digits);
  if (terms.secret.size() != data_secret_digits)
    f.fault("secret", "must have 64 hexadecimal digits");
  if (f.has("holder_uid")) terms.holder_uid = f.number<std::uint32_t>("holder_uid");
  if (f.has("expires_in_ms")) terms.expires_in = parse_data_time(f, "expires_in_ms");
  return terms;
}

}  // namespace

std::string_view to_string(DataEnd end) { return data_end_names[static_cast<std::size_t>(end)]; }

std::optional<DataEnd> parse_data_end(std::string_view name) {
  return find_name<DataEnd>(data_end_names, name);
}

Json to_json(const LeaseTenant& tenant) { return {{"uid", tenant.uid}, {"name", tenant.name}}; }

LeaseTenant parse_tenant(const JsonObject& f) {
  const JsonObject tenant = f.object("tenant");
  return {.uid = tenant.number<std::uint32_t>("uid"), .name = tenant.text("name", 256)};
}

Json to_json(const DataMessage& message) { return std::visit(DataEncoder{}, message); }

std::optional<DataMessage> parse_data_message(const JsonObject& f, std::string_view type) {
  const auto data = [&] { return f.parsed("data", parse_data_id, "must be the id of data"); };
  if (type == "make_data")
    return MakeData{data(), parse_data_terms(f), parse_data_time(f, "write_within_ms")};
  if (type == "seal_data") {
    SealData seal{.data = data()};
    if (f.has("expires_in_ms")) seal.expires_in = parse_data_time(f, "expires_in_ms");
    seal.order = parse_data_order(f);
    return seal;
  }
  if (type == "drop_data") return DropData{data()};
  if (type == "data_made") return DataMade{data()};
  if (type == "data_refused")
    return DataRefused{data(), f.parsed("code", parse_error_code), f.text("message")};
  if (type == "data_sealed") return DataSealed{data(), parse_data_bytes(f, "bytes")};
  if (type == "data_dropped") return DataDropped{data(), f.parsed("reason", parse_data_end)};
  return std::nullopt;
}

Json to_json(const DataMemory& memory) {
  return {{"bytes", memory.bytes.value}, {"used", memory.used.value}};
}

DataMemory parse_data_memory(const JsonObject& f) {
  const JsonObject memory = f.object("data_memory");
  return {.bytes = parse_data_bytes(memory, "bytes"), .used = parse_data_bytes(memory, "used")};
}

Json to_json(const std::vector<DataHeld>& held) {
  Json list = Json::array();
  for (const DataHeld& one : held) {
    Json json{{"data", to_string(one.data)},
              {"created_ms_ago", one.created_ago.count()},
              {"order", one.order}};
    describe_data(json, one.terms);
    list.push_back(std::move(json));
  }
  return list;
}

std::vector<DataHeld> parse_data_held(const std::vector<JsonObject>& list) {
  std::vector<DataHeld> held;
  held.reserve(list.size());
  for (const JsonObject& f : list)
    held.push_back({.data = f.parsed("data", parse_data_id, "must be the id of data"),
                    .terms = parse_data_terms(f),
                    .created_ago = parse_data_time(f, "created_ms_ago"),
                    .order = parse_data_order(f)});
  return held;
}

}  // namespace orchid
