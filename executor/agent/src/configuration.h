// agent/configuration.h: what orchid-executor can be told, by flag.
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "children/scheduling.h"
#include "foundation/result.h"
#include "foundation/units.h"
#include "protocol/control_messages.h"
#include "protocol/core_list.h"
#include "protocol/limits.h"

namespace orchid::executor {

/// What whoever starts an executor says of the network between its host and its clients.
enum class LaneFabric : std::uint8_t {
  tcp,        // nothing
  automatic,  // nobody on it means ill: RDMA where both ends have a device, TCP otherwise
  verbs,      // the same, and this host has a device, or the executor does not start
};

struct Configuration {
  std::string gateway;                      // "unix:/path" or "host:port"; required
  std::filesystem::path token_file;         // empty: none, for the Unix socket
  std::filesystem::path runtime_directory;  // sockets; private to the user; required
  std::filesystem::path state_directory;    // the code store; required
  /// Of this executor alone, which removes it when it ends; the two above are in it by default.
  /// Default: none.
  std::filesystem::path scratch_directory;
  std::filesystem::path
      program_directory;  // orchid-worker, orchid-compiler and so on; default: beside this program
  std::uint32_t cores = 0;  // offered at most; 0: all that the affinity mask and cgroup allow
  ByteCount memory;         // offered at most; 0: all that machine and cgroup have
  ByteCount worker_memory = 4_GiB;  // RLIMIT_DATA of a worker; 64 MiB and more
  /// For data objects, and not for workers; default: `data_memory_of` says. 0: none is kept.
  std::optional<ByteCount> data_memory;
  std::optional<ByteCount> data_memory_per_tenant;  // of that; default: all
  /// Where data objects go that others need the memory of. Default: nowhere.
  std::filesystem::path data_spill;
  std::optional<ByteCount> data_spill_size;    // there at most; default: four times the memory
  std::filesystem::path data_durable;          // where data is kept beyond our end; empty: nowhere
  std::optional<ByteCount> data_durable_size;  // there at most; default: 16 times the memory
  ByteCount code_store = 1_GiB;                // bound of the code store on disk
  /// That modules which functions make may take to compile in an hour, of each user; 1 and more.
  std::chrono::seconds compile_quota{60};
  std::string lane_listen;  // "IP:port" for clients of other hosts, port 0: any; empty: none
  LaneFabric lane_fabric = LaneFabric::tcp;  // needs lane_listen unless it is tcp
  std::string host_id;  // of the machine that the cores belong to; default: its boot id
  std::vector<std::string> readable_paths;  // trees that functions may read; default: none
  GrantTerms grant;                         // whose the cores are; default: ours (local)
  /// Offered cores, of those that the affinity mask and cgroup allow; default: all of them.
  CoreList core_list;
  std::uint32_t core_list_counts = 0;  // processors, as a batch system counts; 0: not its numbers
  std::string kind;  // of this host: "cpu", "gpu" or "dpu"; default: gpu if it offers one, or cpu
  std::vector<OfferedGpu> gpus;  // offered ones, by index, each once; default: none
  /// What the driver calls them, "GPU-…" or "MIG-…", by index; of those of which that is given.
  std::map<std::uint32_t, std::string> gpu_uuids;
  /// A pipe of which whoever started us is the writer: it says which of these cores are to be
  /// offered now, a line for each change; none before the first. Its end is the grant's. -1: none.
  int core_feed = -1;
  /// Of a batch job's grant: it ends when no gateway has answered for so long. 1 s to 1 d.
  std::chrono::seconds gateway_grace = limits::gateway_grace;
  /// Of all that the executor starts; default: `idle` in a batch job's grant.
  SchedulingClass scheduling = SchedulingClass::normal;
  /// Bytes per second that all functions together may move between memory and cores; 64 MiB and
  /// more; 0: they are not measured, and never held.
  ByteCount bandwidth_cap;
  std::string notify_socket;   // NOTIFY_SOCKET of the environment
  bool probe_sandbox = false;  // print what the kernel can enforce, and end
  bool probe_fabric = false;   // print what lanes between hosts could use, and end
};

/// As --memory says, for a worker at least.
constexpr ByteCount least_for_workers = 64_MiB;
/// Of an executor that could offer so much. Unless it is told: a quarter of the memory, and of a
/// batch job's at most 1 GiB, since the job gets it back within milliseconds; but only what is left
/// when each core has a worker of the gateway's default size, so that no core is idle for it.
struct Offer {
  ByteCount memory;
  std::size_t cores = 1;
};
[[nodiscard]] ByteCount data_memory_of(const Configuration& configuration, const Offer& offer);

/// Errors: `bad_configuration`. `exit_status` is set when --help or --version was printed and the
/// program should end.
struct ParsedConfiguration {
  Configuration configuration;
  int exit_status = -1;
};
[[nodiscard]] Result<ParsedConfiguration> parse_configuration(int argc, char** argv);

}  // namespace orchid::executor
