#include "recording.h"

#include <nlohmann/json.hpp>

namespace orchid::slurm {
namespace {

using Json = nlohmann::json;

Json to_json(const NodeRow& r) {
  return {{"name", r.name},
          {"address", r.address},
          {"hostname", r.hostname},
          {"architecture", r.architecture},
          {"features", r.features},
          {"gres", r.gres},
          {"gres_used", r.gres_used},
          {"reason", r.reason},
          {"conditions", r.conditions},
          {"has_owner", r.has_owner},
          {"sockets", r.sockets},
          {"cores_per_socket", r.cores_per_socket},
          {"threads_per_core", r.threads_per_core},
          {"cpus_effective", r.cpus_effective},
          {"reserved_cpus", r.reserved_cpus},
          {"memory_mib", r.memory_mib},
          {"memory_reserved_mib", r.memory_reserved_mib},
          {"cpus_allocated", r.cpus_allocated},
          {"memory_allocated_mib", r.memory_allocated_mib}};
}

void read(const Json& json, NodeRow& r) {
  json.at("name").get_to(r.name);
  json.at("address").get_to(r.address);
  json.at("hostname").get_to(r.hostname);
  json.at("architecture").get_to(r.architecture);
  json.at("features").get_to(r.features);
  json.at("gres").get_to(r.gres);
  json.at("gres_used").get_to(r.gres_used);
  json.at("reason").get_to(r.reason);
  json.at("conditions").get_to(r.conditions);
  json.at("has_owner").get_to(r.has_owner);
  json.at("sockets").get_to(r.sockets);
  json.at("cores_per_socket").get_to(r.cores_per_socket);
  json.at("threads_per_core").get_to(r.threads_per_core);
  json.at("cpus_effective").get_to(r.cpus_effective);
  json.at("reserved_cpus").get_to(r.reserved_cpus);
  json.at("memory_mib").get_to(r.memory_mib);
  json.at("memory_reserved_mib").get_to(r.memory_reserved_mib);
  json.at("cpus_allocated").get_to(r.cpus_allocated);
  json.at("memory_allocated_mib").get_to(r.memory_allocated_mib);
}

Json to_json(const JobRow& r) {
  Json shares = Json::array();
  for (const JobShareRow& share : r.shares)
    shares.push_back(
        {{"node", share.node}, {"cores", share.cores}, {"cpus", share.cpus}, {"gres", share.gres}});
  Json json{{"id", r.id},
            {"array", r.array},
            {"array_tasks", r.array_tasks},
            {"uid", r.uid},
            {"partition", r.partition},
            {"state", to_string(r.state)},
            {"exclusive", r.exclusive},
            {"start_time", r.start_time},
            {"end_time", r.end_time},
            {"memory_mib", r.memory_mib},
            {"memory_is_per_cpu", r.memory_is_per_cpu},
            {"nodes_wanted", r.nodes_wanted},
            {"cpus_wanted", r.cpus_wanted},
            {"gres_wanted", r.gres_wanted},
            {"planned_nodes", r.planned_nodes},
            {"shares", std::move(shares)}};
  if (r.gres_times != 1) json["gres_times"] = r.gres_times;
  return json;
}

void read(const Json& json, JobRow& r) {
  json.at("id").get_to(r.id);
  json.at("array").get_to(r.array);
  json.at("array_tasks").get_to(r.array_tasks);
  json.at("uid").get_to(r.uid);
  json.at("partition").get_to(r.partition);
  r.state =
      parse_source_job_state(json.at("state").get<std::string>()).value_or(SourceJobState::running);
  json.at("exclusive").get_to(r.exclusive);
  json.at("start_time").get_to(r.start_time);
  json.at("end_time").get_to(r.end_time);
  json.at("memory_mib").get_to(r.memory_mib);
  json.at("memory_is_per_cpu").get_to(r.memory_is_per_cpu);
  json.at("nodes_wanted").get_to(r.nodes_wanted);
  json.at("cpus_wanted").get_to(r.cpus_wanted);
  json.at("gres_wanted").get_to(r.gres_wanted);
  r.gres_times = json.value("gres_times", 1U);
  json.at("planned_nodes").get_to(r.planned_nodes);
  for (const Json& share : json.at("shares"))
    r.shares.push_back({share.at("node").get<std::string>(), share.at("cores").get<std::string>(),
                        share.at("cpus").get<std::uint32_t>(),
                        share.at("gres").get<std::string>()});
}

Json to_json(const ReservationRow& r) {
  return {{"name", r.name},   {"start_time", r.start_time}, {"end_time", r.end_time},
          {"nodes", r.nodes}, {"core_count", r.core_count}, {"cores", r.cores}};
}

void read(const Json& json, ReservationRow& r) {
  json.at("name").get_to(r.name);
  json.at("start_time").get_to(r.start_time);
  json.at("end_time").get_to(r.end_time);
  json.at("nodes").get_to(r.nodes);
  json.at("core_count").get_to(r.core_count);
  json.at("cores").get_to(r.cores);
}

Json to_json(const PartitionRow& r) {
  return {{"name", r.name}, {"starts_jobs", r.starts_jobs}, {"nodes", r.nodes}};
}

void read(const Json& json, PartitionRow& r) {
  json.at("name").get_to(r.name);
  json.at("starts_jobs").get_to(r.starts_jobs);
  json.at("nodes").get_to(r.nodes);
}

template <typename Row>
void put(Json& json, const char* key, const std::optional<Table<Row>>& table) {
  if (!table) return;
  Json rows = Json::array();
  for (const Row& row : table->rows) rows.push_back(to_json(row));
  json[key] = {{"time", table->time}, {"rows", std::move(rows)}};
  if (table->hidden) json[key]["hidden"] = true;
}

template <typename Row>
void get(const Json& json, const char* key, std::optional<Table<Row>>& table) {
  const auto found = json.find(key);
  if (found == json.end()) return;
  table.emplace();
  found->at("time").get_to(table->time);
  table->hidden = found->value("hidden", false);
  for (const Json& row : found->at("rows")) read(row, table->rows.emplace_back());
}

}  // namespace

std::string encode(const PollAnswer& answer) {
  Json json = Json::object();
  put(json, "nodes", answer.nodes);
  put(json, "jobs", answer.jobs);
  put(json, "reservations", answer.reservations);
  put(json, "partitions", answer.partitions);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<PollAnswer> parse_poll_answer(std::string_view line) {
  try {
    const Json json = Json::parse(line);
    PollAnswer answer;
    get(json, "nodes", answer.nodes);
    get(json, "jobs", answer.jobs);
    get(json, "reservations", answer.reservations);
    get(json, "partitions", answer.partitions);
    return answer;
  } catch (const Json::exception& error) {
    return fail(ErrorCode::bad_request,
                std::string("this is not a line of a recording: ") + error.what());
  }
}

}  // namespace orchid::slurm
