#include "worker/messages.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "foundation/json_document.h"

namespace orchid::executor {
namespace {

using Json = nlohmann::json;

struct Encoder {
  Json operator()(const Birth& m) const {
    Json json{{"type", "birth"},
              {"worker", m.worker},
              {"data_limit", m.data_limit},
              {"request_bytes", m.request_bytes},
              {"response_bytes", m.response_bytes},
              {"core", m.core},
              {"readable_paths", m.readable_paths},
              {"device_lane", m.device_lane}};
    if (m.remote)
      json["remote"] = {{"address", m.remote->address},
                        {"key", m.remote->key},
                        {"trusted_fabric", m.remote->trusted_fabric}};
    if (m.crew)
      json["crew"] = {
          {"member", m.crew->member}, {"members", m.crew->members}, {"near", m.crew->near}};
    return json;
  }
  Json operator()(const Born& m) const {
    return {{"type", "born"}, {"worker", m.worker}, {"pid", m.pid}};
  }
  Json operator()(const BirthFailed& m) const {
    return {{"type", "birth_failed"}, {"worker", m.worker}, {"message", m.message}};
  }
  Json operator()(const ZygoteReady&) const { return {{"type", "zygote_ready"}}; }
  Json operator()(const FabricFound& m) const {
    return {{"type", "fabric_found"},
            {"verbs", m.verbs},
            {"description", m.description},
            {"usable", m.usable}};
  }
  Json operator()(const Proceed&) const { return {{"type", "proceed"}}; }
  Json operator()(const CrewWiring&) const { return {{"type", "crew_wiring"}}; }
  Json operator()(const WireCrew& m) const {
    Json peers = Json::array();
    for (const CrewPeer& peer : m.peers)
      peers.push_back({{"member", peer.member}, {"address", peer.address}, {"key", peer.key}});
    return {{"type", "wire_crew"}, {"peers", std::move(peers)}};
  }
  Json operator()(const CrewLost& m) const {
    return {{"type", "crew_lost"}, {"message", m.message}};
  }
  Json operator()(const WorkerReady&) const { return {{"type", "worker_ready"}}; }
  Json operator()(const WorkerListening& m) const {
    return {{"type", "worker_listening"}, {"port", m.port}};
  }
  Json operator()(const WorkerUnfit& m) const {
    return {{"type", "worker_unfit"}, {"message", m.message}};
  }
  Json operator()(const Assign& m) const {
    return {{"type", "assign"},
            {"spin_us", m.spin_us},
            {"output_limit", m.output_limit},
            {"cores", m.cores}};
  }
  Json operator()(const Load& m) const {
    return {{"type", "load"},    {"slot", m.slot},   {"generation", m.generation},
            {"quick", m.quick},  {"first", m.first}, {"on_gpu", m.on_gpu},
            {"digest", m.digest}};
  }
  Json operator()(const Improve& m) const {
    return {{"type", "improve"}, {"slot", m.slot}, {"generation", m.generation}};
  }
  Json operator()(const Improved& m) const {
    return {{"type", "improved"}, {"slot", m.slot}, {"message", m.message}};
  }
  Json operator()(const Unload& m) const { return {{"type", "unload"}, {"slot", m.slot}}; }
  Json operator()(const Retire& m) const { return {{"type", "retire"}, {"reason", m.reason}}; }
  Json operator()(const Loaded& m) const {
    return {{"type", "loaded"},
            {"slot", m.slot},
            {"generation", m.generation},
            {"entries", m.entries},
            {"link_us", m.link_us}};
  }
  Json operator()(const LoadFailed& m) const {
    return {{"type", "load_failed"}, {"slot", m.slot}, {"message", m.message}};
  }
  Json operator()(const MapData& m) const {
    return {{"type", "map_data"}, {"data", to_string(m.data)}, {"bytes", m.bytes}};
  }
  Json operator()(const UnmapData& m) const {
    return {{"type", "unmap_data"}, {"data", to_string(m.data)}};
  }
  Json operator()(const DataMapped& m) const {
    return {{"type", "data_mapped"}, {"data", to_string(m.data)}};
  }
  Json operator()(const DataNotMapped& m) const {
    return {{"type", "data_not_mapped"}, {"data", to_string(m.data)}, {"message", m.message}};
  }
  Json operator()(const DataUnmapped& m) const {
    return {{"type", "data_unmapped"}, {"data", to_string(m.data)}};
  }
};

Birth parse_birth(const JsonObject& f) {
  Birth birth{.worker = f.number<std::uint64_t>("worker"),
              .data_limit = f.number<std::uint64_t>("data_limit"),
              .request_bytes = f.number<std::uint64_t>("request_bytes"),
              .response_bytes = f.number<std::uint64_t>("response_bytes"),
              .core = f.number<std::int32_t>("core"),
              .readable_paths = f.texts("readable_paths"),
              .remote = {},
              .device_lane = f.flag("device_lane")};
  if (f.has("crew")) {
    const JsonObject crew = f.object("crew");
    birth.crew = CrewPlace{.member = crew.number<std::uint32_t>("member"),
                           .members = crew.number<std::uint32_t>("members"),
                           .near = crew.numbers("near")};
  }
  if (!f.has("remote")) return birth;
  const JsonObject remote = f.object("remote");
  birth.remote = RemoteLane{.address = remote.text("address"),
                            .key = remote.text("key"),
                            .trusted_fabric = remote.flag("trusted_fabric")};
  return birth;
}

WireCrew parse_wire_crew(const JsonObject& f) {
  WireCrew wire;
  for (const JsonObject& peer : f.objects("peers"))
    wire.peers.push_back({.member = peer.number<std::uint32_t>("member"),
                          .address = peer.text("address"),
                          .key = peer.text("key")});
  return wire;
}

/// Of the program and its calls.
std::optional<WorkerMessage> read_of_process(const JsonObject& f, std::string_view type) {
  if (type == "birth") return parse_birth(f);
  if (type == "born")
    return Born{.worker = f.number<std::uint64_t>("worker"), .pid = f.number<std::int64_t>("pid")};
  if (type == "birth_failed")
    return BirthFailed{.worker = f.number<std::uint64_t>("worker"), .message = f.text("message")};
  if (type == "zygote_ready") return ZygoteReady{};
  if (type == "fabric_found")
    return FabricFound{
        .verbs = f.flag("verbs"), .description = f.text("description"), .usable = f.flag("usable")};
  if (type == "proceed") return Proceed{};
  if (type == "crew_wiring") return CrewWiring{};
  if (type == "wire_crew") return parse_wire_crew(f);
  if (type == "crew_lost") return CrewLost{.message = f.text("message")};
  if (type == "retire") return Retire{.reason = f.text("reason")};
  if (type == "worker_ready") return WorkerReady{};
  if (type == "worker_listening") return WorkerListening{.port = f.number<std::uint16_t>("port")};
  if (type == "worker_unfit") return WorkerUnfit{.message = f.text("message")};
  if (type == "assign")
    return Assign{.spin_us = f.number<std::uint64_t>("spin_us"),
                  .output_limit = f.number<std::uint64_t>("output_limit"),
                  .cores = f.number<std::uint32_t>("cores")};
  return std::nullopt;
}

/// Of the code in one of its slots.
std::optional<WorkerMessage> read_of_slot(const JsonObject& f, std::string_view type) {
  const auto slot = [&] { return f.number<std::uint32_t>("slot"); };
  const auto generation = [&] { return f.number<std::uint32_t>("generation"); };
  if (type == "load")
    return Load{.slot = slot(),
                .generation = generation(),
                .quick = f.flag("quick"),
                .first = f.flag("first"),
                .on_gpu = f.flag("on_gpu"),
                .digest = f.text("digest")};
  if (type == "improve") return Improve{.slot = slot(), .generation = generation()};
  if (type == "improved") return Improved{.slot = slot(), .message = f.text("message")};
  if (type == "unload") return Unload{.slot = slot()};
  if (type == "loaded")
    return Loaded{.slot = slot(),
                  .generation = generation(),
                  .entries = f.texts("entries"),
                  .link_us = f.number<std::uint64_t>("link_us")};
  if (type == "load_failed") return LoadFailed{.slot = slot(), .message = f.text("message")};
  return std::nullopt;
}

std::optional<WorkerMessage> read_of_data(const JsonObject& f, std::string_view type) {
  const auto data = [&] { return f.parsed("data", parse_data_id, "must be the id of data"); };
  if (type == "map_data") return MapData{data(), f.number<std::uint64_t>("bytes")};
  if (type == "unmap_data") return UnmapData{data()};
  if (type == "data_mapped") return DataMapped{data()};
  if (type == "data_not_mapped") return DataNotMapped{data(), f.text("message")};
  if (type == "data_unmapped") return DataUnmapped{data()};
  return std::nullopt;
}

}  // namespace

std::string encode(const WorkerMessage& message) {
  return dump_json(std::visit(Encoder{}, message));
}

Result<WorkerMessage> parse_worker_message(std::string_view text) {
  JsonDocument document(text, {.subject = "the message"});
  const std::string type = document.type();
  const JsonObject f = document.root();
  auto message = read_of_process(f, type);
  if (!message) message = read_of_slot(f, type);
  if (!message) message = read_of_data(f, type);
  if (!message) f.fault("type", "is unknown");
  return document.finish(std::move(message).value_or(Proceed{}));
}

}  // namespace orchid::executor
