#include "flow/decision_text.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace orchid::flow {
namespace {

using Json = nlohmann::json;

Json json_of(const DevicePart& part) {
  return {
      {"calls", part.calls}, {"from", part.from}, {"pieces", part.pieces}, {"share", part.share}};
}

DevicePart part_of(const Json& json) {
  return {.calls = json.at("calls").get<std::uint32_t>(),
          .from = json.at("from").get<std::uint64_t>(),
          .pieces = json.at("pieces").get<std::uint64_t>(),
          .share = json.at("share").get<std::uint32_t>()};
}

Json json_of(const VariantTurns& turns) {
  Json json{{"device", to_string(turns.device)}, {"usual", turns.usual}};
  if (!turns.trials.empty()) json["trials"] = turns.trials;
  return json;
}

VariantTurns turns_of(const Json& json) {
  VariantTurns turns{.usual = json.at("usual").get<std::uint32_t>()};
  const auto name = json.at("device").get<std::string>();
  for (const Device device : {Device::any, Device::cores, Device::gpu})
    if (to_string(device) == name) turns.device = device;
  if (json.contains("trials")) turns.trials = json.at("trials").get<std::vector<std::uint32_t>>();
  return turns;
}

Json json_of(const Advice& advice) {
  Json json{{"node", advice.node}};
  if (advice.priority) json["priority"] = *advice.priority;
  if (advice.pieces != 0) json["pieces"] = advice.pieces;
  if (advice.share != 0) json["share"] = advice.share;
  if (advice.devices)
    json["devices"] = {{"cores", json_of(advice.devices->cores)},
                       {"gpu", json_of(advice.devices->gpu)}};
  for (const VariantTurns& turns : advice.variants) json["variants"].push_back(json_of(turns));
  if (advice.prepare != 0) json["prepare"] = advice.prepare;
  if (!advice.why.empty()) json["why"] = advice.why;
  return json;
}

/// Throws nlohmann's exceptions, as all that reads here.
Advice advice_of(const Json& json) {
  Advice advice{.node = json.at("node").get<std::uint32_t>(),
                .pieces = json.value("pieces", std::uint64_t{0}),
                .share = json.value("share", std::uint32_t{0}),
                .devices = {},
                .variants = {},
                .prepare = json.value("prepare", std::uint32_t{0}),
                .why = json.value("why", std::string())};
  if (json.contains("priority")) advice.priority = json.at("priority").get<std::int64_t>();
  if (json.contains("devices"))
    advice.devices = {.cores = part_of(json.at("devices").at("cores")),
                      .gpu = part_of(json.at("devices").at("gpu"))};
  if (json.contains("variants"))
    for (const Json& one : json.at("variants")) advice.variants.push_back(turns_of(one));
  return advice;
}

Json json_of(const ReadyNode& node) {
  return {{"node", node.node},
          {"name", node.name},
          {"kind", static_cast<int>(node.kind)},
          {"function", node.function},
          {"input_bytes", node.input_bytes},
          {"seconds_to_end", node.seconds_to_end},
          {"pieces_left", node.pieces_left},
          {"pieces_total", node.pieces_total},
          {"open_calls", node.open_calls},
          {"in_runs", node.in_runs},
          {"cores_of_call", node.cores_of_call}};
}

ReadyNode node_of(const Json& json) {
  return {.node = json.at("node").get<std::uint32_t>(),
          .name = json.at("name").get<std::string>(),
          .kind = static_cast<NodeKind>(json.at("kind").get<std::uint8_t>()),
          .function = json.at("function").get<std::string>(),
          .input_bytes = json.at("input_bytes").get<std::uint64_t>(),
          .seconds_to_end = json.at("seconds_to_end").get<double>(),
          .pieces_left = json.at("pieces_left").get<std::uint64_t>(),
          .pieces_total = json.at("pieces_total").get<std::uint64_t>(),
          .open_calls = json.at("open_calls").get<std::uint32_t>(),
          .in_runs = json.at("in_runs").get<bool>(),
          .cores_of_call = json.value("cores_of_call", std::uint32_t{0})};
}

Json json_of(const HostSituation& host) {
  Json json{{"name", host.name},
            {"kind", host.kind},
            {"cores", host.cores},
            {"cores_free", host.cores_free},
            {"gpus_free", host.gpus_free},
            {"speed", host.speed},
            {"watts_per_core", host.watts_per_core},
            {"cores_own", host.cores_own}};
  if (host.watts) json["watts"] = *host.watts;
  return json;
}

HostSituation host_of(const Json& json) {
  HostSituation host{.name = json.at("name").get<std::string>(),
                     .kind = json.at("kind").get<std::string>(),
                     .cores = json.at("cores").get<std::uint32_t>(),
                     .cores_free = json.at("cores_free").get<std::uint32_t>(),
                     .gpus_free = json.at("gpus_free").get<std::uint32_t>(),
                     .speed = json.at("speed").get<double>(),
                     .watts = {},
                     .watts_per_core = json.at("watts_per_core").get<double>(),
                     .cores_own = json.value("cores_own", std::uint32_t{0})};
  if (json.contains("watts")) host.watts = json.at("watts").get<double>();
  return host;
}

Json json_of(const FunctionTimes& times) {
  return {{"function", times.function},
          {"host_kind", times.host_kind},
          {"calls", times.calls},
          {"pieces", times.pieces},
          {"run_seconds", times.run_seconds},
          {"recent_piece_seconds", times.recent_piece_seconds},
          {"slowest_piece_seconds", times.slowest_piece_seconds},
          {"overhead_seconds", times.overhead_seconds}};
}

FunctionTimes times_of(const Json& json) {
  return {.function = json.at("function").get<std::string>(),
          .host_kind = json.at("host_kind").get<std::string>(),
          .calls = json.at("calls").get<std::uint64_t>(),
          .pieces = json.at("pieces").get<std::uint64_t>(),
          .run_seconds = json.at("run_seconds").get<double>(),
          .recent_piece_seconds = json.at("recent_piece_seconds").get<double>(),
          .slowest_piece_seconds = json.at("slowest_piece_seconds").get<double>(),
          .overhead_seconds = json.at("overhead_seconds").get<double>()};
}

template <typename T>
Json list_of(const std::vector<T>& all) {
  Json list = Json::array();
  for (const T& one : all) list.push_back(json_of(one));
  return list;
}

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string to_json(const Decided& decided) {
  Json json{{"nodes", list_of(decided.nodes)}};
  if (decided.open_calls) json["open_calls"] = *decided.open_calls;
  return dump(json);
}

Result<Decided> parse_decided(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    Decided decided;
    for (const Json& one : json.at("nodes")) decided.nodes.push_back(advice_of(one));
    if (json.contains("open_calls"))
      decided.open_calls = json.at("open_calls").get<std::uint32_t>();
    return decided;
  } catch (const Json::exception& error) {
    return fail(ErrorCode::bad_request, std::string("no decision: ") + error.what());
  }
}

std::string to_json(const Situation& situation) {
  return dump({{"nodes", list_of(situation.nodes)},
               {"hosts", list_of(situation.hosts)},
               {"times", list_of(situation.times)},
               {"workers", situation.workers},
               {"window", situation.window}});
}

Result<Situation> parse_situation(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    Situation situation;
    for (const Json& one : json.at("nodes")) situation.nodes.push_back(node_of(one));
    for (const Json& one : json.at("hosts")) situation.hosts.push_back(host_of(one));
    for (const Json& one : json.at("times")) situation.times.push_back(times_of(one));
    situation.workers = json.at("workers").get<std::uint32_t>();
    situation.window = json.at("window").get<std::uint32_t>();
    return situation;
  } catch (const Json::exception& error) {
    return fail(ErrorCode::bad_request, std::string("no situation: ") + error.what());
  }
}

}  // namespace orchid::flow
