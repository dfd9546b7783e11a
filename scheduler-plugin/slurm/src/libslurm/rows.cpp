#include "libslurm/rows.h"

#include <array>
#include <cstdlib>
#include <utility>

namespace orchid::slurm {
namespace {

std::string text(const char* value) { return value == nullptr ? std::string{} : value; }

/// "n[1-3],m7" as names.
std::vector<std::string> names_of(const Library& library, const char* hosts) {
  std::vector<std::string> names;
  if (hosts == nullptr || *hosts == '\0') return names;
  const hostlist_t list = library.hostlist_create(hosts);
  if (list == nullptr) return names;
  while (char* name = library.hostlist_shift(list)) {
    names.emplace_back(name);
    std::free(name);  // NOLINT(cppcoreguidelines-no-malloc): libslurm's documentation demands it
  }
  library.hostlist_destroy(list);
  return names;
}

/// ALLOCATED says only that some CPU is in use, and MIXED is made up by Slurm's commands: neither
/// tells how much. Both are left out; what counts is cpus_allocated.
std::vector<std::string> conditions_of(std::uint32_t state) {
  std::vector<std::string> found;
  switch (state & NODE_STATE_BASE) {
    case NODE_STATE_IDLE:
    case NODE_STATE_ALLOCATED:
    case NODE_STATE_MIXED:
      break;
    case NODE_STATE_DOWN:
      found.emplace_back("down");
      break;
    case NODE_STATE_FUTURE:
      found.emplace_back("future");
      break;
    case NODE_STATE_ERROR:
      found.emplace_back("error");
      break;
    default:
      found.emplace_back("unknown");
  }
  constexpr std::array<std::pair<std::uint32_t, const char*>, 15> flags{{
      {NODE_STATE_DRAIN, "drained"},
      {NODE_STATE_FAIL, "failing"},
      {NODE_STATE_MAINT, "maintenance"},
      {NODE_STATE_RES, "reserved"},
      {NODE_STATE_NO_RESPOND, "no_response"},
      {NODE_STATE_POWERING_DOWN, "powering_down"},
      {NODE_STATE_POWER_DOWN, "powering_down"},
      {NODE_STATE_POWERED_DOWN, "powered_down"},
      {NODE_STATE_POWERING_UP, "powering_up"},
      {NODE_STATE_POWER_UP, "powering_up"},
      {NODE_STATE_POWER_DRAIN, "power_drained"},
      {NODE_STATE_REBOOT_REQUESTED, "rebooting"},
      {NODE_STATE_REBOOT_ISSUED, "rebooting"},
      {NODE_STATE_INVALID_REG, "invalid_registration"},
      {NODE_STATE_PLANNED, "planned"},
  }};
  for (const auto& [bit, name] : flags)
    if ((state & bit) != 0 && (found.empty() || found.back() != name)) found.emplace_back(name);
  return found;
}

std::optional<SourceJobState> state_of(const job_info_t& job) {
  if ((job.job_state & JOB_COMPLETING) != 0) return SourceJobState::completing;
  switch (job.job_state & JOB_STATE_BASE) {
    case JOB_PENDING:
      return SourceJobState::pending;
    case JOB_RUNNING:
      return SourceJobState::running;
    case JOB_SUSPENDED:
      return SourceJobState::suspended;
    default:
      return std::nullopt;
  }
}

/// Of a job that is completing slurmctld names the nodes that it is still on, and tells the cores
/// of all that it had: there only the name says which they are. (It costs more than the number.)
std::vector<JobShareRow> shares_of(const Library& library, const job_info_t& job) {
  std::vector<JobShareRow> shares;
  if (job.job_resrcs == nullptr) return shares;
  const bool by_name = (job.job_state & JOB_COMPLETING) != 0;
  const std::vector<std::string> names = names_of(library, job.nodes);
  for (const std::string& name : names) {
    const int id = static_cast<int>(shares.size());
    JobShareRow& share = shares.emplace_back();
    share.node = name;
    std::array<char, 4096> cores{};
    const int found =
        by_name
            ? library.cores_on_named_node(cores.data(), cores.size(), job.job_resrcs, name.c_str())
            : library.cores_on_node(cores.data(), cores.size(), job.job_resrcs, id);
    if (found == SLURM_SUCCESS) share.cores = cores.data();
    const int cpus = by_name ? library.cpus_on_named_node(job.job_resrcs, name.c_str())
                             : library.cpus_on_node(job.job_resrcs, id);
    share.cpus = cpus > 0 ? static_cast<std::uint32_t>(cpus) : 0;
    // While a job is completing Slurm 22.05 tells none of its GPUs.
    if (job.gres_detail_str != nullptr && job.gres_detail_cnt == names.size())
      share.gres = text(job.gres_detail_str[id]);
  }
  return shares;
}

bool is_set(std::uint32_t number) { return number != 0 && number != NO_VAL; }
bool is_set(std::uint16_t number) { return number != 0 && number != NO_VAL16; }

std::uint32_t tasks_on_each_node(const job_info_t& job) {
  if (is_set(job.ntasks_per_node)) return job.ntasks_per_node;
  if (!is_set(job.num_tasks) || !is_set(job.num_nodes)) return 1;
  return (job.num_tasks + job.num_nodes - 1) / job.num_nodes;
}

/// What a job that waits wants of each node: by node, by socket (then it says how many it wants) or
/// by task; or for all of the job, of which nobody says where it will be.
void set_gres_wanted(JobRow& row, const job_info_t& job) {
  const auto is_given = [](const char* value) { return value != nullptr && *value != '\0'; };
  if (is_given(job.tres_per_node)) {
    row.gres_wanted = job.tres_per_node;
  } else if (is_given(job.tres_per_socket)) {
    row.gres_wanted = job.tres_per_socket;
    row.gres_times = is_set(job.sockets_per_node) ? job.sockets_per_node : 1;
  } else if (is_given(job.tres_per_task)) {
    row.gres_wanted = job.tres_per_task;
    row.gres_times = tasks_on_each_node(job);
  } else {
    row.gres_wanted = text(job.tres_per_job);
  }
}

std::string array_tasks_of(const job_info_t& job) {
  if (job.array_task_str != nullptr) return job.array_task_str;
  if (job.array_job_id != 0 && job.array_task_id != NO_VAL)
    return std::to_string(job.array_task_id);
  return {};
}

}  // namespace

NodeRow make_row(const Library& library, const node_info_t& node) {
  NodeRow row;
  row.name = text(node.name);
  row.address = text(node.node_addr);
  row.hostname = text(node.node_hostname);
  row.architecture = text(node.arch);
  row.features = text(node.features_act == nullptr ? node.features : node.features_act);
  row.gres = text(node.gres);
  row.gres_used = text(node.gres_used);
  row.reason = text(node.reason);
  row.conditions = conditions_of(node.node_state);
  row.has_owner = node.owner != NO_VAL;
  row.sockets = node.sockets;
  row.cores_per_socket = node.cores;
  row.threads_per_core = node.threads;
  row.cpus_effective = node.cpus_efctv;
  row.reserved_cpus = text(node.cpu_spec_list);
  row.memory_mib = node.real_memory;
  row.memory_reserved_mib = node.mem_spec_limit;
  std::uint16_t cpus = 0;
  library.get_select_nodeinfo(node.select_nodeinfo, SELECT_NODEDATA_SUBCNT, NODE_STATE_ALLOCATED,
                              &cpus);
  row.cpus_allocated = cpus;
  // slurm.h says uint32_t, and 64 bits are written.
  std::uint64_t memory_mib = 0;
  library.get_select_nodeinfo(node.select_nodeinfo, SELECT_NODEDATA_MEM_ALLOC, NODE_STATE_ALLOCATED,
                              &memory_mib);
  row.memory_allocated_mib = memory_mib;
  return row;
}

std::optional<JobRow> make_row(const Library& library, const job_info_t& job) {
  const auto state = state_of(job);
  if (!state) return std::nullopt;
  JobRow row;
  row.id = job.job_id;
  row.array = job.array_job_id;
  row.array_tasks = array_tasks_of(job);
  row.uid = job.user_id;
  row.partition = text(job.partition);
  row.state = *state;
  row.exclusive = job.shared == JOB_SHARED_NONE;
  row.start_time = job.start_time;
  // Without a limit slurmctld says: in a year.
  row.end_time = job.time_limit == INFINITE ? 0 : job.end_time;
  row.memory_is_per_cpu = (job.pn_min_memory & MEM_PER_CPU) != 0;
  row.memory_mib = job.pn_min_memory & ~MEM_PER_CPU;
  row.nodes_wanted = job.num_nodes;
  row.cpus_wanted = job.num_cpus;
  if (*state == SourceJobState::pending) {
    set_gres_wanted(row, job);
    row.planned_nodes = names_of(library, job.sched_nodes);
    // A start that no node is planned for is only the earliest time that the user allows.
    if (row.planned_nodes.empty()) row.start_time = 0;
    const bool is_limited = job.time_limit != INFINITE && job.time_limit != NO_VAL;
    row.end_time =
        row.start_time != 0 && is_limited ? row.start_time + ClusterTime{60} * job.time_limit : 0;
  } else {
    row.shares = shares_of(library, job);
  }
  return row;
}

ReservationRow make_row(const Library& library, const reserve_info_t& reservation) {
  ReservationRow row;
  row.name = text(reservation.name);
  row.start_time = reservation.start_time;
  row.end_time = reservation.end_time;
  row.nodes = names_of(library, reservation.node_list);
  row.core_count = reservation.core_cnt == NO_VAL ? 0 : reservation.core_cnt;
  for (std::uint32_t i = 0; i < reservation.core_spec_cnt; ++i)
    row.cores.emplace_back(text(reservation.core_spec[i].node_name),
                           text(reservation.core_spec[i].core_id));
  return row;
}

PartitionRow make_row(const Library& library, const partition_info_t& partition) {
  return {.name = text(partition.name),
          .starts_jobs = (partition.state_up & PARTITION_SCHED) != 0,
          .nodes = names_of(library, partition.nodes)};
}

}  // namespace orchid::slurm
