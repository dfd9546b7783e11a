// orchid-executor: the agent of one host and owner.
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "agent.h"
#include "bandwidth/accessed_memory.h"
#include "children/core_binding.h"
#include "children/scheduling.h"
#include "configuration.h"
#include "data/durable_folder.h"
#include "data/spill_file.h"
#include "device/driver_environment.h"
#include "fabric_probe.h"
#include "foundation/duplicate.h"
#include "foundation/files.h"
#include "foundation/log.h"
#include "foundation/tcp.h"
#include "sandbox/allowed_calls.h"
#include "sandbox/confinement.h"
#include "scratch.h"
#include "topology/gpu_place.h"
#include "topology/grant_group.h"

namespace orchid::executor {
namespace {

/// Code in memory, modules that wait for a compiler, and eight for each of a place's workers.
void raise_descriptor_limit() {
  constexpr rlim_t enough = 65'536;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= enough) return;
  limit.rlim_cur = std::min(enough, limit.rlim_max);
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0)
    log::warn("event=descriptor_limit reason=\"cannot raise it\"");
}

/// A socket of this process's: its file goes with the object, unless another process has put its
/// own in that place.
class OwnSocketFile {
 public:
  explicit OwnSocketFile(std::filesystem::path path)
      : path_(std::move(path)), made_(identity_of(path_)) {}
  OwnSocketFile(const OwnSocketFile&) = delete;
  OwnSocketFile& operator=(const OwnSocketFile&) = delete;
  ~OwnSocketFile() {
    if (made_ && identity_of(path_) == made_) ::unlink(path_.c_str());
  }

 private:
  using Identity = std::pair<dev_t, ino_t>;
  static std::optional<Identity> identity_of(const std::filesystem::path& file) {
    struct stat found{};
    if (::stat(file.c_str(), &found) != 0) return std::nullopt;
    return Identity{found.st_dev, found.st_ino};
  }
  std::filesystem::path path_;
  std::optional<Identity> made_;
};

/// Each system call once for each thing that may be asked of it.
nlohmann::json calls_of_functions() {
  nlohmann::json calls = nlohmann::json::array();
  for (const AllowedCall& call : calls_of_user_code({.role = SandboxRole::worker,
                                                     .data_limit = {},
                                                     .parent_pid = ::getppid(),
                                                     .keep_descriptors = {}})) {
    nlohmann::json row{{"name", call.name}, {"only", call.only}};
    if (std::ranges::find(calls, row) == calls.end()) calls.push_back(std::move(row));
  }
  return calls;
}

int print_sandbox_support() {
  const SandboxSupport support = probe_sandbox_support();
  const nlohmann::json json{{"landlock_abi", support.landlock_abi},
                            {"seccomp", support.seccomp},
                            {"missing", support.missing},
                            {"calls", calls_of_functions()}};
  std::puts(json.dump().c_str());
  return 0;
}

int print_fabric(const Configuration& c) {
  const auto found = probe_fabric(c.program_directory / "orchid-worker");
  const nlohmann::json json =
      found ? nlohmann::json{{"usable", found->usable},
                             {"verbs", found->verbs},
                             {"description", found->description}}
            : nlohmann::json{
                  {"usable", false}, {"verbs", false}, {"description", found.error().message}};
  std::puts(json.dump().c_str());
  return 0;
}

/// Before anything else is made, so that a site learns at once that its device is not there.
Result<void> require_fabric(const Configuration& c) {
  if (c.lane_fabric == LaneFabric::tcp) return {};
  auto found = probe_fabric(c.program_directory / "orchid-worker");
  if (!found) return fail(std::move(found.error()).while_doing("--lane-fabric"));
  if (auto fits = check_fabric(c.lane_fabric, *found); !fits)
    return fail(std::move(fits.error()).while_doing("--lane-fabric"));
  log::info("event=lane_fabric uses=\"{}\"", found->description);
  return {};
}

int give_up(const Failure& failure, int status) {
  log::error("event=cannot_start code={} reason=\"{}\"", to_string(failure.code), failure.message);
  return status;
}

Result<std::string> read_token(const std::filesystem::path& path) {
  if (path.empty()) return std::string();
  auto content = read_file(path, 4_KiB);
  if (!content) return fail(std::move(content.error()).while_doing("reading the token"));
  std::string token(as_text(*content));
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) token.pop_back();
  return token;
}

/// Those of the host that this executor is to offer.
Result<void> choose_cores(const Configuration& c, HostResources& host) {
  const auto allowed = host.cores;
  if (!c.core_list.empty()) {
    // A batch system may be told that a machine has other cores than it has: then there is no
    // order.
    const CoreList listed =
        threads_behind(c.core_list, c.core_list_counts, host.thread_order).value_or(c.core_list);
    host.cores = common(allowed, listed);
    if (host.cores.empty())
      return fail(ErrorCode::bad_configuration,
                  "of --core-list " + to_core_text(c.core_list) +
                      " this process may use none: its affinity mask and cgroup allow " +
                      to_core_text(allowed));
  }
  if (c.cores != 0 && c.cores < host.cores.size()) host.cores.resize(c.cores);
  return {};
}

/// A copy of our own, which nothing that we start inherits; the original is closed.
Result<UniqueFd> take_core_feed(int number) {
  auto feed = duplicate(number, 3);
  if (!feed) return fail(std::move(feed.error()).while_doing("--core-feed"));
  ::close(number);
  return feed;
}

/// All that is started from here on lives inside what is offered, and behind others.
Result<GrantGroup> stay_inside(const Configuration& c, const CoreList& allowed,
                               const HostResources& host) {
  const bool fewer = host.cores.size() < allowed.size();
  GrantGroup::Options options;
  if (fewer) options.cores = host.cores;
  if (c.memory.value != 0) options.memory = host.memory;
  GrantGroup group = GrantGroup::enter(options);
  for (const std::string& refusal : group.refusals())
    log::info(
        "event=control_group_refused reason=\"{}\" instead=\"affinity and limits of each "
        "process\"",
        refusal);
  if (group.bounds_cores() || group.bounds_memory())
    log::info("event=control_group cores={} memory={}", group.bounds_cores() ? "yes" : "no",
              group.bounds_memory() ? "yes" : "no");
  if (fewer)
    if (auto bound = bind_this_process(host.cores); !bound) return fail(std::move(bound.error()));
  if (c.scheduling == SchedulingClass::idle)
    if (auto gone = give_way(); !gone)
      log::warn("event=not_behind_others reason=\"{}\"", gone.error().message);
  if (c.bandwidth_cap.value != 0)
    if (auto given_up = give_up_huge_pages(); !given_up) return fail(std::move(given_up.error()));
  return group;
}

/// A site's executor serves users other than its own, who come to its socket; and what it runs, for
/// whomever, is not to look into it, which has the site's token.
Result<void> serve_others(const Configuration& c) {
  const auto socket = c.runtime_directory / "lanes.sock";
  if (::chmod(socket.c_str(), 0666) != 0) return fail_errno("chmod " + socket.string());
  if (::prctl(PR_SET_DUMPABLE, 0) != 0) return fail_errno("PR_SET_DUMPABLE");
  return {};
}

/// Who gives way takes longer, and is not to be taken for hanging.
void be_patient(Agent::Options& options) {
  constexpr int patience = 12;
  options.workers.birth_deadline *= patience;
  options.compilers.process.start_limit *= patience;
  options.compilers.process.time_limit *= patience;
  options.devices.start_limit *= patience;
  options.depots.start_limit *= patience;
}

void offer_gpus(const Configuration& c, Agent::Options& options) {
  options.gpus = c.gpus;
  options.gpu_uuids = c.gpu_uuids;
  for (OfferedGpu& gpu : options.gpus)  // under another name its index may be anything
    if (!c.gpu_uuids.contains(gpu.index)) gpu.numa_node = numa_node_of_gpu(gpu.index, "/");
  options.devices.program = c.program_directory / "orchid-device";
  options.devices.scheduling = c.scheduling;
  options.devices.environment = driver_environment();
  options.workers.on_gpus = !c.gpus.empty();
}

/// What the executor starts, and how.
void describe_processes(const Configuration& c, Agent::Options& options) {
  options.workers.worker_program = c.program_directory / "orchid-worker";
  options.workers.readable_paths = c.readable_paths;
  options.workers.scheduling = c.scheduling;
  options.depots.program = c.program_directory / "orchid-depot";
  options.depots.scheduling = c.scheduling;
  options.compilers.process.program = c.program_directory / "orchid-compiler";
  options.compile_quota = c.compile_quota;
  options.compilers.process.scheduling = c.scheduling;
  // A site's executor has a uid that no tenant has.
  if (!c.grant.owner) options.compilers.schedule.resident = ::geteuid();
  if (c.scheduling == SchedulingClass::idle) be_patient(options);
}

/// Where clients come for their workers.
struct Lanes {
  LaneListeners listeners;
  std::string address;  // for those of other hosts; empty: there is none
  std::string host;     // of that address
};

Result<Lanes> listen_for_clients(const Configuration& c) {
  Lanes lanes;
  auto local = listen_packets(c.runtime_directory / "lanes.sock");
  if (!local) return fail(std::move(local.error()));
  lanes.listeners.local = std::move(*local);
  if (c.grant.owner)
    if (auto open = serve_others(c); !open) return fail(std::move(open.error()));
  if (c.lane_listen.empty()) return lanes;
  auto remote = listen_tcp(c.lane_listen);
  if (!remote) return fail(std::move(remote.error()).while_doing("--lane-listen"));
  lanes.listeners.remote = std::move(remote->socket);
  lanes.address = remote->address;
  lanes.host = remote->host;
  return lanes;
}

/// What data objects have, workers do not get.
Result<DataBook::Options> set_data_memory_aside(const Configuration& c, HostResources& host) {
  const ByteCount data = data_memory_of(c, {.memory = host.memory, .cores = host.cores.size()});
  if (data.value + least_for_workers.value > host.memory.value)
    return fail(ErrorCode::bad_configuration,
                "--data-memory " + to_string(data) + " leaves less than " +
                    to_string(least_for_workers) + " of " + to_string(host.memory) +
                    " for workers; give it less");
  host.memory.value -= data.value;
  if (!c.data_spill.empty())
    if (auto there = SpillFile::check(c.data_spill); !there)
      return fail(std::move(there.error()).while_doing("--data-spill"));
  return DataBook::Options{
      .budget = data,
      .per_tenant = c.data_memory_per_tenant.value_or(data),
      .disk = c.data_spill.empty() ? 0_B : c.data_spill_size.value_or(ByteCount{4 * data.value}),
      .durable =
          c.data_durable.empty() ? 0_B : c.data_durable_size.value_or(ByteCount{16 * data.value})};
}

Result<void> describe_data(const Configuration& c, const DataBook::Options& data,
                           const std::string& host, Agent::Options& options) {
  options.data = data;
  options.data_spill = c.data_spill;
  if (!c.data_durable.empty()) {
    auto folder = DurableFolder::open(c.data_durable);
    if (!folder) return fail(std::move(folder.error()).while_doing("--data-durable"));
    options.data_durable = std::move(*folder);
  }
  options.copying = {
      .program = c.program_directory / "orchid-copy", .listen = host, .scheduling = c.scheduling};
  options.memory = {.program = c.program_directory / "orchid-memory", .listen = host};
  return {};
}

Result<void> serve(const Configuration& c) {
  raise_descriptor_limit();
  const auto scratch = Scratch::take(c.scratch_directory);
  if (!scratch) return fail(scratch.error());
  if (auto there = require_fabric(c); !there) return there;
  auto address = GatewayAddress::parse(c.gateway);
  if (!address) return fail(std::move(address.error()));
  auto token = read_token(c.token_file);
  if (!token) return fail(std::move(token.error()));
  if (auto made = make_private_directory(c.runtime_directory); !made) return made;
  if (auto made = make_private_directory(c.state_directory); !made) return made;
  auto host = discover_host();
  if (!host) return fail(std::move(host.error()));
  if (!c.host_id.empty()) host->boot_id = c.host_id;
  const CoreList allowed = host->cores;
  if (auto chosen = choose_cores(c, *host); !chosen) return chosen;
  if (c.memory.value != 0) host->memory = std::min(host->memory, c.memory);
  auto group = stay_inside(c, allowed, *host);
  if (!group) return fail(std::move(group.error()));
  auto data = set_data_memory_aside(c, *host);
  if (!data) return fail(std::move(data.error()));
  auto store = CodeStore::open({c.state_directory / "code", c.code_store});
  if (!store) return fail(std::move(store.error()));
  auto lanes = listen_for_clients(c);
  if (!lanes) return fail(std::move(lanes.error()));
  const OwnSocketFile lane_socket(c.runtime_directory / "lanes.sock");

  boost::asio::io_context io(1);
  Agent::Options options{.gateway = *address,
                         .token = *token,
                         .runtime_directory = c.runtime_directory,
                         .program_directory = c.program_directory};
  options.grant.terms = c.grant;
  if (c.grant.source != GrantSource::local) options.grant.gateway_grace = c.gateway_grace;
  if (c.core_feed >= 0) {
    auto feed = take_core_feed(c.core_feed);
    if (!feed) return fail(std::move(feed.error()));
    options.core_feed = std::move(*feed);
  }
  options.kind = c.kind;
  offer_gpus(c, options);
  options.lane_address = lanes->address;
  options.workers.remote_address = lanes->host;
  options.workers.trusted_fabric = c.lane_fabric != LaneFabric::tcp;
  options.workers.data_limit = std::min(c.worker_memory, host->memory);
  describe_processes(c, options);
  if (auto described = describe_data(c, *data, lanes->host, options); !described) return described;
  if (c.bandwidth_cap.value != 0)
    options.bandwidth = {.per_second = c.bandwidth_cap,
                         .cache_per_core = std::max(host->cache_per_core, 1_MiB)};
  if (group->bounds_memory())
    options.memory_kills = [&group = *group] { return group.memory_kills(); };
  options.while_leaving = [&scratch = *scratch, &group = *group] {
    group.leave();
    scratch.remove();
  };
  Agent agent(io, std::move(options), std::move(*host), std::move(*store),
              std::move(lanes->listeners), SupervisorNotice(c.notify_socket));
  boost::asio::signal_set signals(io, SIGINT, SIGTERM);
  signals.async_wait([&agent](const boost::system::error_code& error, int) {
    if (!error) agent.end();
  });
  agent.start();
  io.run();
  return {};
}

}  // namespace
}  // namespace orchid::executor

int main(int argc, char** argv) {
  orchid::occupy_standard_descriptors();
  using namespace orchid;
  log::configure("orchid-executor", LogLevel::info);
  try {
    auto parsed = executor::parse_configuration(argc, argv);
    if (!parsed) return executor::give_up(parsed.error(), 2);
    if (parsed->exit_status >= 0) return parsed->exit_status;
    if (parsed->configuration.probe_sandbox) return executor::print_sandbox_support();
    if (parsed->configuration.probe_fabric) return executor::print_fabric(parsed->configuration);
    auto served = executor::serve(parsed->configuration);
    return served ? 0 : executor::give_up(served.error(), 3);
  } catch (const std::exception& error) {
    log::error("event=unexpected what=\"{}\"", error.what());
    return 3;
  }
}
