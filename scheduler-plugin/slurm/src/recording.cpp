#include "recording.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "foundation/json_document.h"

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

void read(const JsonObject& o, NodeRow& r) {
  r.name = o.text("name");
  r.address = o.text("address");
  r.hostname = o.text("hostname");
  r.architecture = o.text("architecture");
  r.features = o.text("features");
  r.gres = o.text("gres");
  r.gres_used = o.text("gres_used");
  r.reason = o.text("reason");
  r.conditions = o.texts("conditions");
  r.has_owner = o.flag("has_owner");
  r.sockets = o.number<std::uint32_t>("sockets");
  r.cores_per_socket = o.number<std::uint32_t>("cores_per_socket");
  r.threads_per_core = o.number<std::uint32_t>("threads_per_core");
  r.cpus_effective = o.number<std::uint32_t>("cpus_effective");
  r.reserved_cpus = o.text("reserved_cpus");
  r.memory_mib = o.number<std::uint64_t>("memory_mib");
  r.memory_reserved_mib = o.number<std::uint64_t>("memory_reserved_mib");
  r.cpus_allocated = o.number<std::uint32_t>("cpus_allocated");
  r.memory_allocated_mib = o.number<std::uint64_t>("memory_allocated_mib");
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

void read(const JsonObject& o, JobRow& r) {
  r.id = o.number<std::uint64_t>("id");
  r.array = o.number<std::uint64_t>("array");
  r.array_tasks = o.text("array_tasks");
  r.uid = o.number<std::uint32_t>("uid");
  r.partition = o.text("partition");
  r.state = o.parsed("state", parse_source_job_state);
  r.exclusive = o.flag("exclusive");
  r.start_time = o.number<ClusterTime>("start_time");
  r.end_time = o.number<ClusterTime>("end_time");
  r.memory_mib = o.number<std::uint64_t>("memory_mib");
  r.memory_is_per_cpu = o.flag("memory_is_per_cpu");
  r.nodes_wanted = o.number<std::uint32_t>("nodes_wanted");
  r.cpus_wanted = o.number<std::uint32_t>("cpus_wanted");
  r.gres_wanted = o.text("gres_wanted");
  r.gres_times = o.optional().number<std::uint32_t>("gres_times", {.otherwise = 1});
  r.planned_nodes = o.texts("planned_nodes");
  for (const JsonObject& share : o.objects("shares"))
    r.shares.push_back({share.text("node"), share.text("cores"),
                        share.number<std::uint32_t>("cpus"), share.text("gres")});
}

Json to_json(const ReservationRow& r) {
  return {{"name", r.name},   {"start_time", r.start_time}, {"end_time", r.end_time},
          {"nodes", r.nodes}, {"core_count", r.core_count}, {"cores", r.cores}};
}

void read(const JsonObject& o, ReservationRow& r) {
  r.name = o.text("name");
  r.start_time = o.number<ClusterTime>("start_time");
  r.end_time = o.number<ClusterTime>("end_time");
  r.nodes = o.texts("nodes");
  r.core_count = o.number<std::uint32_t>("core_count");
  r.cores = o.text_pairs("cores");
}

Json to_json(const PartitionRow& r) {
  return {{"name", r.name}, {"starts_jobs", r.starts_jobs}, {"nodes", r.nodes}};
}

void read(const JsonObject& o, PartitionRow& r) {
  r.name = o.text("name");
  r.starts_jobs = o.flag("starts_jobs");
  r.nodes = o.texts("nodes");
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
void get(const JsonObject& o, const char* key, std::optional<Table<Row>>& table) {
  if (!o.has(key)) return;
  const JsonObject told = o.object(key);
  table.emplace();
  table->time = told.number<ClusterTime>("time");
  table->hidden = told.optional().flag("hidden");
  for (const JsonObject& row : told.objects("rows")) read(row, table->rows.emplace_back());
}

}  // namespace

std::string encode(const PollAnswer& answer) {
  Json json = Json::object();
  put(json, "nodes", answer.nodes);
  put(json, "jobs", answer.jobs);
  put(json, "reservations", answer.reservations);
  put(json, "partitions", answer.partitions);
  return dump_json(json);
}

Result<PollAnswer> parse_poll_answer(std::string_view line) {
  const JsonDocument document(line, {.subject = "the line of a recording"});
  const JsonObject o = document.root();
  PollAnswer answer;
  get(o, "nodes", answer.nodes);
  get(o, "jobs", answer.jobs);
  get(o, "reservations", answer.reservations);
  get(o, "partitions", answer.partitions);
  return document.finish(std::move(answer));
}

}  // namespace orchid::slurm
