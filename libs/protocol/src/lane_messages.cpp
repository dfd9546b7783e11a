#include "protocol/lane_messages.h"

#include <array>
#include <cassert>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "data_json.h"
#include "foundation/json_document.h"
#include "name_list.h"
#include "protocol/crew.h"
#include "protocol/limits.h"

namespace orchid {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::string_view, 4> source_names{"worker", "memory", "disk", "compiled"};
constexpr std::array<std::string_view, 2> access_names{"read", "write"};

Json to_json(const LaneClaim& m) {
  Json json{{"type", "claim"},
            {"protocol", m.protocol},
            {"lease", to_string(m.lease)},
            {"secret", m.secret}};
  if (!m.address.empty()) json["address"] = m.address;
  if (m.knows_compiling) json["knows_compiling"] = true;
  if (m.knows_progress) json["knows_progress"] = true;
  if (m.members != 0) json["members"] = m.members;
  if (!m.near.empty()) {
    json["member"] = m.member;
    json["near"] = m.near;
  }
  return json;
}
Json to_json(const LaneClaimed& m) {
  Json json{{"type", "claimed"},
            {"worker", m.worker},
            {"pid", m.pid},
            {"core", m.core},
            {"generation", m.generation},
            {"request_bytes", m.request_bytes.value},
            {"response_bytes", m.response_bytes.value}};
  if (m.port != 0) {
    json["port"] = m.port;
    json["key"] = m.key;
    if (m.trusted_fabric) json["trusted_fabric"] = true;
  }
  if (m.members != 0) {
    json["member"] = m.member;
    json["members"] = m.members;
  }
  return json;
}
Json to_json(const LaneWire& m) {
  Json peers = Json::array();
  for (const LanePeer& peer : m.peers)
    peers.push_back({{"member", peer.member}, {"address", peer.address}, {"key", peer.key}});
  return {{"type", "wire"}, {"worker", m.worker}, {"peers", std::move(peers)}};
}
Json to_json(const LaneWired& m) { return {{"type", "wired"}, {"worker", m.worker}}; }
Json to_json(const LaneRefused& m) {
  return {{"type", "refused"}, {"code", to_string(m.code)}, {"message", m.message}};
}
Json to_json(const LaneAnnounce& m) {
  Json json{{"type", "announce"}, {"digest", m.digest}};
  if (m.time_left) json["time_left_ms"] = m.time_left->count();
  return json;
}
Json to_json(const LaneNeedCode& m) { return {{"type", "need_code"}, {"digest", m.digest}}; }
Json to_json(const LaneFetch& m) { return {{"type", "fetch"}, {"name", m.name}}; }
Json to_json(const LaneLocate& m) { return {{"type", "locate"}, {"data", m.data}}; }
Json to_json(const LaneLocated& m) {
  Json json{{"type", "located"}, {"data", m.data}};
  if (m.member != 0) {
    json["member"] = m.member;
  } else {
    json["code"] = to_string(m.code);
    json["message"] = m.message;
  }
  return json;
}
Json to_json(const LaneFetched& m) {
  Json json{{"type", "fetched"}, {"name", m.name}};
  if (!m.digest.empty()) {
    json["digest"] = m.digest;
    if (m.made) json["made"] = true;
    if (m.made && !m.base.empty()) json["base"] = m.base;
  } else {
    json["code"] = to_string(m.code);
    json["message"] = m.message;
  }
  return json;
}
Json to_json(const LaneMade& m) {
  Json json{{"type", "made"}, {"digest", m.digest}};
  if (!m.base.empty()) json["base"] = m.base;
  return json;
}
Json to_json(const LaneKept& m) {
  Json json{{"type", "kept"}, {"digest", m.digest}};
  if (m.refusal) {
    json["code"] = to_string(m.refusal->code);
    json["message"] = m.refusal->message;
  }
  return json;
}
Json to_json(const LaneCompiling& m) {
  Json json{{"type", "compiling"}, {"digest", m.digest}};
  if (m.over) json["over"] = true;
  return json;
}
Json to_json(const LaneCode& m) { return {{"type", "code"}, {"digest", m.digest}}; }
Json to_json(const LaneSlot& m) {
  return {{"type", "slot"},
          {"digest", m.digest},
          {"slot", m.slot},
          {"generation", m.generation},
          {"entries", m.entries},
          {"compile_us", m.compile_us.count()},
          {"link_us", m.link_us.count()},
          {"source", to_string(m.source)}};
}
Json to_json(const LaneRejected& m) {
  return {{"type", "rejected"},
          {"digest", m.digest},
          {"code", to_string(m.code)},
          {"message", m.message}};
}
Json to_json(const LaneCancel& m) { return {{"type", "cancel"}, {"request", m.request}}; }
Json to_json(const LaneReplace& m) {
  Json json{{"type", "replace"}, {"reason", m.reason}};
  if (m.worker != 0) json["worker"] = m.worker;
  if (m.crew_lost) json["crew_lost"] = true;
  return json;
}
Json to_json(const LaneProgress& m) {
  return {{"type", "progress"}, {"request", m.request}, {"thousandths", m.thousandths}};
}
Json to_json(const LaneEnded& m) {
  Json json{{"type", "ended"},
            {"request", m.request},
            {"outcome", to_string(m.outcome)},
            {"message", m.message},
            {"signal", m.signal},
            {"exit_status", m.exit_status},
            {"started", m.started},
            {"replaced_in_ms", m.replaced_in.count()}};
  if (m.answered != 0) json["answered"] = m.answered;
  if (!m.log.text.empty() || m.log.dropped != 0)
    json["log"] = {{"text", m.log.text}, {"dropped", m.log.dropped}};
  return json;
}

Json to_json(const LaneOpenData& m) {
  return {{"type", "open_data"},
          {"data", to_string(m.data)},
          {"secret", m.secret},
          {"access", to_string(m.access)}};
}
Json to_json(const LaneData& m) {
  return {{"type", "data"}, {"data", to_string(m.data)}, {"bytes", m.bytes.value}};
}
Json with_ids(std::string_view type, const std::vector<DataId>& data) {
  assert(!data.empty() && data.size() <= limits::data_per_call &&
         "the other end refuses such a message, and ends the connection");
  Json ids = Json::array();
  for (const DataId& id : data) ids.push_back(to_string(id));
  return {{"type", type}, {"data", std::move(ids)}};
}
Json to_json(const LaneAttach& m) { return with_ids("attach", m.data); }
Json to_json(const LaneDetach& m) { return with_ids("detach", m.data); }
Json to_json(const LaneAttached& m) {
  return {{"type", "attached"}, {"data", to_string(m.data)}, {"bytes", m.bytes.value}};
}
Json to_json(const LaneNotAttached& m) {
  return {{"type", "not_attached"},
          {"data", to_string(m.data)},
          {"code", to_string(m.code)},
          {"message", m.message}};
}

LaneSlot parse_slot(const JsonObject& f) {
  LaneSlot m;
  m.digest = f.text("digest");
  m.slot = f.number<std::uint32_t>("slot");
  m.generation = f.number<std::uint32_t>("generation");
  m.entries = f.texts("entries");
  m.compile_us = std::chrono::microseconds(f.number<std::uint32_t>("compile_us"));
  m.link_us = std::chrono::microseconds(f.number<std::uint32_t>("link_us"));
  m.source = f.parsed("source", parse_code_source);
  return m;
}

LaneEnded parse_ended(const JsonObject& f) {
  LaneEnded m;
  m.request = f.number<std::uint64_t>("request");
  m.outcome = f.parsed("outcome", parse_outcome);
  m.message = f.text("message");
  m.signal = f.number<int>("signal");
  m.exit_status = f.number<int>("exit_status");
  m.started = f.flag("started");
  m.replaced_in = std::chrono::milliseconds(f.number<std::uint32_t>("replaced_in_ms"));
  if (f.has("answered")) m.answered = f.number<std::uint64_t>("answered");
  if (f.has("log")) {
    const JsonObject log = f.object("log");
    m.log = {.text = log.text("text"), .dropped = log.number<std::uint64_t>("dropped")};
  }
  return m;
}

LaneClaimed parse_claimed(const JsonObject& f) {
  LaneClaimed m;
  m.worker = f.number<std::uint64_t>("worker");
  m.pid = f.number<std::int64_t>("pid");
  m.core = f.number<std::int32_t>("core");
  m.generation = f.number<std::uint32_t>("generation");
  m.request_bytes = ByteCount{f.number<std::uint64_t>("request_bytes")};
  m.response_bytes = ByteCount{f.number<std::uint64_t>("response_bytes")};
  if (f.has("port")) {
    m.port = f.number<std::uint16_t>("port");
    m.key = f.text("key", 32);
    if (f.has("trusted_fabric")) m.trusted_fabric = f.flag("trusted_fabric");
  }
  if (f.has("members")) {
    m.members = f.number<std::uint32_t>("members",
                                        {.least = crew::least_members, .most = crew::most_members});
    m.member = f.number<std::uint32_t>("member", {.least = 1, .most = m.members});
  }
  return m;
}

LaneClaim parse_claim(const JsonObject& f) {
  LaneClaim m{.lease = f.parsed("lease", parse_lease_id), .secret = f.text("secret", 64)};
  m.protocol = f.number<std::uint32_t>("protocol");
  if (f.has("address")) m.address = f.text("address", 512);
  if (f.has("knows_compiling")) m.knows_compiling = f.flag("knows_compiling");
  if (f.has("knows_progress")) m.knows_progress = f.flag("knows_progress");
  if (f.has("members")) {
    m.members = f.number<std::uint32_t>("members",
                                        {.least = crew::least_members, .most = crew::most_members});
    if (f.has("member") || f.has("near")) {
      m.member = f.number<std::uint32_t>("member", {.least = 1, .most = m.members});
      m.near = f.numbers("near");
    }
  }
  return m;
}

LaneWire parse_wire(const JsonObject& f) {
  LaneWire m{.worker = f.number<std::uint64_t>("worker"), .peers = {}};
  for (const JsonObject& peer : f.objects("peers"))
    m.peers.push_back({.member = peer.number<std::uint32_t>("member", {.most = crew::most_members}),
                       .address = peer.text("address", 64),
                       .key = peer.text("key", 32)});
  if (m.peers.size() > crew::most_members) f.fault("peers", "must be at most 64");
  return m;
}

std::vector<DataId> parse_all_data(const JsonObject& f) {
  std::vector<DataId> all;
  for (const std::string& text : f.texts("data", {.least = 1, .most = limits::data_per_call})) {
    if (const auto data = parse_data_id(text))
      all.push_back(*data);
    else
      f.fault("data", "must be ids of data");
  }
  return all;
}

std::optional<LaneMessage> read_data_message(const JsonObject& f, std::string_view type) {
  if (type == "open_data")
    return LaneOpenData{.data = parse_data(f),
                        .secret = f.text("secret", 64),
                        .access = f.parsed("access", parse_data_access)};
  if (type == "data")
    return LaneData{.data = parse_data(f), .bytes = {f.number<std::uint64_t>("bytes")}};
  if (type == "attach") return LaneAttach{parse_all_data(f)};
  if (type == "detach") return LaneDetach{parse_all_data(f)};
  if (type == "attached")
    return LaneAttached{.data = parse_data(f), .bytes = {f.number<std::uint64_t>("bytes")}};
  if (type == "not_attached")
    return LaneNotAttached{.data = parse_data(f),
                           .code = f.parsed("code", parse_error_code),
                           .message = f.text("message")};
  return std::nullopt;
}

LaneFetched parse_fetched(const JsonObject& f) {
  LaneFetched m{.name = f.text("name")};
  if (f.has("digest")) {
    m.digest = f.text("digest");
    m.made = f.has("made") && f.flag("made");
    if (m.made && f.has("base")) m.base = f.text("base");
  } else {
    m.code = f.parsed("code", parse_error_code);
    m.message = f.text("message");
  }
  return m;
}

LaneLocated parse_located(const JsonObject& f) {
  LaneLocated m{.data = f.text("data")};
  if (f.has("member")) {
    m.member = f.number<std::uint32_t>("member", {.least = 1, .most = crew::most_members});
  } else {
    m.code = f.parsed("code", parse_error_code);
    m.message = f.text("message");
  }
  return m;
}

LaneKept parse_kept(const JsonObject& f) {
  LaneKept m{.digest = f.text("digest")};
  if (f.has("code"))
    m.refusal = Failure{.code = f.parsed("code", parse_error_code), .message = f.text("message")};
  return m;
}

LaneMessage read_lane_message(const JsonObject& f, std::string_view type) {
  if (type == "claimed") return parse_claimed(f);
  if (type == "slot") return parse_slot(f);
  if (type == "ended") return parse_ended(f);
  if (type == "progress")
    return LaneProgress{
        .request = f.number<std::uint64_t>("request"),
        .thousandths = f.number<std::uint32_t>("thousandths", {.most = LaneProgress::whole})};
  if (type == "need_code") return LaneNeedCode{f.text("digest")};
  if (type == "fetch") return LaneFetch{f.text("name")};
  if (type == "fetched") return parse_fetched(f);
  if (type == "locate") return LaneLocate{f.text("data")};
  if (type == "located") return parse_located(f);
  if (type == "made")
    return LaneMade{.digest = f.text("digest"), .base = f.has("base") ? f.text("base") : ""};
  if (type == "kept") return parse_kept(f);
  if (type == "compiling") return LaneCompiling{f.text("digest"), f.has("over") && f.flag("over")};
  if (type == "refused")
    return LaneRefused{.code = f.parsed("code", parse_error_code), .message = f.text("message")};
  if (type == "rejected")
    return LaneRejected{.digest = f.text("digest"),
                        .code = f.parsed("code", parse_error_code),
                        .message = f.text("message")};
  if (type == "claim") return parse_claim(f);
  if (type == "announce") {
    LaneAnnounce m{.digest = f.text("digest")};
    if (f.has("time_left_ms"))
      m.time_left = std::chrono::milliseconds(f.number<std::uint32_t>("time_left_ms"));
    return m;
  }
  if (type == "code") return LaneCode{f.text("digest")};
  if (type == "cancel") return LaneCancel{f.number<std::uint64_t>("request")};
  if (type == "replace")
    return LaneReplace{.reason = f.text("reason"),
                       .worker = f.has("worker") ? f.number<std::uint64_t>("worker") : 0,
                       .crew_lost = f.has("crew_lost") && f.flag("crew_lost")};
  if (type == "wire") return parse_wire(f);
  if (type == "wired") return LaneWired{f.number<std::uint64_t>("worker")};
  if (auto message = read_data_message(f, type)) return std::move(*message);
  f.fault("type", "is unknown; upgrade the older side");
  return {};
}

}  // namespace

std::string_view to_string(CodeSource source) {
  return source_names[static_cast<std::size_t>(source)];
}

std::optional<CodeSource> parse_code_source(std::string_view name) {
  return find_name<CodeSource>(source_names, name);
}

std::string_view to_string(DataAccess access) {
  return access_names[static_cast<std::size_t>(access)];
}

std::optional<DataAccess> parse_data_access(std::string_view name) {
  return find_name<DataAccess>(access_names, name);
}

std::string encode(const LaneMessage& message) {
  return std::visit([](const auto& m) { return dump_json(to_json(m)); }, message);
}

Result<LaneMessage> parse_lane_message(std::string_view text) {
  JsonDocument document(text, {.subject = "the message"});
  const std::string type = document.type();
  return document.finish(read_lane_message(document.root(), type));
}

}  // namespace orchid
