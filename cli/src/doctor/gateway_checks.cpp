// doctor/gateway_checks.cpp: the checks that talk to the gateway.
#include <fmt/format.h>

#include <string>

#include "doctor/examination.h"
#include "foundation/json_document.h"

namespace orchid::cli {
namespace {

constexpr std::uint64_t fullest_percent = 95;  // of the memory for data
constexpr auto start_one = "start one with 'orchid up', or set ORCHID_GATEWAY to where it runs";

Finding good(std::string check, std::string detail) {
  return {
      .check = std::move(check), .health = Health::good, .detail = std::move(detail), .remedy = ""};
}

struct HostCount {
  std::size_t connected = 0;
  std::size_t lost = 0;
  std::uint64_t workers_ready = 0;
  std::uint64_t cores_leased = 0;
  std::size_t keep_data = 0;  // executors
  ByteCount data_memory;      // of these
  ByteCount data_used;
  ByteCount data_leased;  // of that
  ByteCount data_on_disk;
};

Result<HostCount> count_hosts(const DoctorEnvironment& environment) {
  const auto answer = environment.ask_gateway("/v1/hosts");
  if (!answer) return fail(answer.error());
  if (answer->status != 200)
    return fail(ErrorCode::internal, fmt::format("/v1/hosts gives status {}", answer->status));
  const JsonDocument document(answer->body, {.subject = "the answer to /v1/hosts"});
  HostCount count;
  for (const JsonObject& host : document.root().optional().objects("hosts"))
    for (const JsonObject& executor : host.objects("executors")) {
      const bool connected = !executor.has("state") || executor.text("state") == "connected";
      ++(connected ? count.connected : count.lost);
      if (!connected) continue;
      count.workers_ready += executor.number<std::uint64_t>("workers_ready");
      count.cores_leased += executor.number<std::uint64_t>("cores_leased");
      if (!executor.has("data_memory_bytes")) continue;
      ++count.keep_data;
      count.data_memory.value += executor.number<std::uint64_t>("data_memory_bytes");
      count.data_used.value += executor.number<std::uint64_t>("data_used_bytes");
      count.data_leased.value += executor.number<std::uint64_t>("data_leased_bytes");
      count.data_on_disk.value += executor.number<std::uint64_t>("data_on_disk_bytes");
    }
  return document.finish(count);
}

}  // namespace

Finding check_gateway_found(const DoctorEnvironment& environment) {
  const auto address = environment.gateway_address();
  if (address) return good("gateway found", *address);
  return {"gateway found", Health::broken, address.error().message, start_one};
}

Finding check_gateway_answers(const DoctorEnvironment& environment) {
  const auto answer = environment.ask_gateway("/healthz");
  if (!answer) return {"gateway answers", Health::broken, answer.error().message, start_one};
  if (answer->status != 200)
    return {"gateway answers", Health::broken,
            fmt::format("/healthz gives status {}", answer->status),
            "is this address an Orchid gateway? Look at the output of 'orchid up'"};
  return good("gateway answers", "/healthz");
}

Finding check_version(const DoctorEnvironment& environment) {
  const auto answer = environment.ask_gateway("/version");
  const JsonDocument document(answer ? answer->body : "");
  const std::string theirs = document.root().optional().text("version");
  if (theirs == environment.version) return good("version", theirs);
  return {"version", Health::doubtful,
          fmt::format("the gateway has {}, this program {}",
                      theirs.empty() ? "an unknown version" : theirs, environment.version),
          "use the programs of one version; restart 'orchid up' after an update"};
}

Finding check_token(const DoctorEnvironment& environment) {
  const auto answer = environment.ask_gateway("/v1/functions");
  if (!answer) return {"access", Health::broken, answer.error().message, start_one};
  if (answer->status == 401 || answer->status == 403)
    return {"access", Health::broken,
            fmt::format("the gateway refuses this program (status {})", answer->status),
            "unset ORCHID_TOKEN, or set it to what 'orchid token' prints on the gateway's machine"};
  if (answer->status != 200)
    return {"access", Health::broken, fmt::format("/v1/functions gives status {}", answer->status),
            "look at the output of 'orchid up'"};
  return good("access", "accepted");
}

/// One Orchid does without any; what is configured shall answer.
Finding check_batch_system(const DoctorEnvironment& environment) {
  constexpr auto name = "batch system";
  const auto answer = environment.ask_gateway("/v1/hosts");
  if (!answer) return {name, Health::broken, answer.error().message, start_one};
  const JsonDocument document(answer->body);
  const auto clusters = document.root().optional().objects("clusters");
  if (clusters.empty() && environment.find_program("sbatch"))
    return {name, Health::doubtful,
            "Slurm's commands are installed, but the gateway does not ask Slurm",
            "start 'orchid up' where SLURM_CONF or /etc/slurm/slurm.conf says where slurmctld is, "
            "or with sources = [\"slurm\"] in its configuration"};
  if (clusters.empty()) return good(name, "none: executors offer the machines that they run on");
  std::string all_well;
  for (const JsonObject& cluster : clusters) {
    const std::string state = cluster.text("state");
    const std::string which = cluster.text("source") + " " + cluster.text("cluster");
    if (state != "current")
      return {name, Health::doubtful,
              fmt::format("{} is {}: {}", which, state, cluster.text("message")),
              "what runs continues, but the gateway learns nothing new; 'orchid-slurm --once' "
              "prints Slurm's answer"};
    all_well +=
        fmt::format("{}{}, {} nodes", all_well.empty() ? "" : "; ", which, cluster.size("nodes"));
  }
  return good(name, all_well);
}

Finding check_executor(const DoctorEnvironment& environment) {
  const auto hosts = count_hosts(environment);
  if (!hosts)
    return {"executor", Health::broken, hosts.error().message, "look at the output of 'orchid up'"};
  if (hosts->connected == 0)
    return {"executor", Health::broken,
            "no executor is connected to the gateway, so nothing can run",
            "wait a moment after a start; then look at the output of 'orchid up'"};
  if (hosts->lost > 0)
    return {"executor", Health::doubtful,
            fmt::format("{} connected; {} not heard of any more", hosts->connected, hosts->lost),
            "'orchid hosts' names their hosts: does orchid-executor run there, and is the way "
            "there open?"};
  return good("executor", fmt::format("{} connected", hosts->connected));
}

Finding check_workers(const DoctorEnvironment& environment) {
  const auto hosts = count_hosts(environment);
  if (!hosts)
    return {"workers", Health::broken, hosts.error().message, "look at the output of 'orchid up'"};
  if (hosts->workers_ready == 0 && hosts->cores_leased == 0)
    return {"workers", Health::broken, "no worker is ready",
            "wait a moment after a start; then look at the output of 'orchid up' for why they end"};
  return good("workers",
              fmt::format("{} ready, {} cores leased", hosts->workers_ready, hosts->cores_leased));
}

/// Orchid does without any.
Finding check_data(const DoctorEnvironment& environment) {
  const auto hosts = count_hosts(environment);
  if (!hosts)
    return {"data", Health::broken, hosts.error().message, "look at the output of 'orchid up'"};
  if (hosts->keep_data == 0)
    return good("data", "no executor keeps data objects: one does with --data-memory");
  const bool leases = hosts->data_leased.value != 0;
  const std::string use =
      fmt::format("{} of {} used{}{}, on {} executor{}", to_string(hosts->data_used),
                  to_string(hosts->data_memory),
                  leases ? fmt::format(" ({} of it leased)", to_string(hosts->data_leased)) : "",
                  hosts->data_on_disk.value == 0
                      ? ""
                      : fmt::format(", and {} on disk", to_string(hosts->data_on_disk)),
                  hosts->keep_data, hosts->keep_data == 1 ? "" : "s");
  if (hosts->data_used.value < hosts->data_memory.value / 100 * fullest_percent)
    return good("data", use);
  return {"data", Health::doubtful, use + ": what is put may find no room",
          std::string("'orchid data list' shows what may be deleted") +
              (leases ? ", 'orchid leases' what memory is leased" : "") +
              "; --data-memory gives an executor more"};
}

}  // namespace orchid::cli
