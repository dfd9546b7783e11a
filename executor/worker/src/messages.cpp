#include "worker/messages.h"

#include <nlohmann/json.hpp>

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
              {"readable_paths", m.readable_paths}};
    if (m.remote)
      json["remote"] = {{"address", m.remote->address},
                        {"key", m.remote->key},
                        {"trusted_fabric", m.remote->trusted_fabric}};
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
    return {{"type", "load"},
            {"slot", m.slot},
            {"generation", m.generation},
            {"quick", m.quick},
            {"first", m.first}};
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
};

Birth parse_birth(const Json& json) {
  Birth birth{.worker = json.at("worker"),
              .data_limit = json.at("data_limit"),
              .request_bytes = json.at("request_bytes"),
              .response_bytes = json.at("response_bytes"),
              .core = json.at("core"),
              .readable_paths = json.at("readable_paths"),
              .remote = {}};
  if (const auto remote = json.find("remote"); remote != json.end())
    birth.remote = RemoteLane{.address = remote->at("address"),
                              .key = remote->at("key"),
                              .trusted_fabric = remote->at("trusted_fabric")};
  return birth;
}

Result<WorkerMessage> from_json(const Json& json) {
  const std::string type = json.at("type");
  if (type == "birth") return parse_birth(json);
  if (type == "born") return Born{.worker = json.at("worker"), .pid = json.at("pid")};
  if (type == "birth_failed")
    return BirthFailed{.worker = json.at("worker"), .message = json.at("message")};
  if (type == "zygote_ready") return ZygoteReady{};
  if (type == "fabric_found")
    return FabricFound{.verbs = json.at("verbs"),
                       .description = json.at("description"),
                       .usable = json.at("usable")};
  if (type == "proceed") return Proceed{};
  if (type == "worker_ready") return WorkerReady{};
  if (type == "worker_listening") return WorkerListening{.port = json.at("port")};
  if (type == "worker_unfit") return WorkerUnfit{.message = json.at("message")};
  if (type == "assign")
    return Assign{.spin_us = json.at("spin_us"),
                  .output_limit = json.at("output_limit"),
                  .cores = json.at("cores")};
  if (type == "load")
    return Load{.slot = json.at("slot"),
                .generation = json.at("generation"),
                .quick = json.at("quick"),
                .first = json.at("first")};
  if (type == "improve")
    return Improve{.slot = json.at("slot"), .generation = json.at("generation")};
  if (type == "improved") return Improved{.slot = json.at("slot"), .message = json.at("message")};
  if (type == "unload") return Unload{.slot = json.at("slot")};
  if (type == "retire") return Retire{.reason = json.at("reason")};
  if (type == "loaded")
    return Loaded{.slot = json.at("slot"),
                  .generation = json.at("generation"),
                  .entries = json.at("entries"),
                  .link_us = json.at("link_us")};
  if (type == "load_failed")
    return LoadFailed{.slot = json.at("slot"), .message = json.at("message")};
  return fail(ErrorCode::bad_request, "unknown message '" + type + "'");
}

}  // namespace

std::string encode(const WorkerMessage& message) {
  return std::visit(Encoder{}, message).dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<WorkerMessage> parse_worker_message(std::string_view text) {
  try {
    return from_json(Json::parse(text));
  } catch (const Json::exception& error) {
    return fail(ErrorCode::bad_request, std::string("not a message: ") + error.what());
  }
}

}  // namespace orchid::executor
