// pilot/batch_script.h: the batch script of a pilot: a job whose only step is an executor on each
// of its nodes, and which leaves nothing behind.
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "foundation/result.h"
#include "foundation/units.h"
#include "protocol/limits.h"

namespace orchid::pilot {

/// What the host of a pilot counts as: the machine, by its boot id, so that its cores are counted
/// once whoever offers them; or the batch system's node, where several nodes are one machine.
enum class HostIdentity : std::uint8_t { boot, node };

/// Empty texts are left to the batch system, if nothing else is said.
struct PilotRequest {
  std::string job_name;  // see `pilot_job_name`
  std::string partition;
  std::string qos;
  std::string account;
  std::string node_list;           // nodes that it shall have: "n1,n[3-4]"
  std::chrono::seconds time{600};  // whole minutes are what Slurm counts; it rounds up
  std::uint32_t nodes = 1;         // an executor on each
  std::uint32_t cores = 1;         // on each node
  std::uint32_t gpus = 0;          // on each node
  std::string gpu_model;           // as the batch system names it; empty: any
  ByteCount memory;                // on each node; 0: what the partition gives for so many cores
  /// Of it, for data objects and leases of memory; nothing: what an executor keeps by itself.
  std::optional<ByteCount> data_memory = std::nullopt;
  /// The site's service on each node makes the executor, and knows its gateway: the step is
  /// orchid-grant, and gateway, token file, lane_listen and host_identity are not used. How much
  /// data an executor keeps is the service's to say.
  bool site = false;
  std::filesystem::path host_socket;  // of that service; empty: where it usually is
  std::string gateway;                // "host:port", as nodes reach it
  std::filesystem::path token_file;   // readable by the user on the nodes
  std::filesystem::path program;      // orchid-executor or orchid-grant, as nodes see it
  std::filesystem::path commands;     // folder of Slurm's commands on the nodes; empty: /usr/bin
  std::filesystem::path log_file;     // "%j" is the job's number; empty: none
  std::string lane_listen = "auto";   // "IP:port"; "auto": the address by which the node reaches
                                      // the gateway; empty: clients of the node's host only
  HostIdentity host_identity = HostIdentity::boot;
  bool gives_way = true;    // what the executor starts runs only where nobody else wants to
  ByteCount bandwidth_cap;  // bytes that functions may move in a second; 64 MiB and more; 0: all
  /// The executor ends after so long without a gateway.
  std::chrono::seconds gateway_grace = limits::gateway_grace;
  /// In the queue; then Slurm removes it, also when nobody is there to do that. 0: no limit.
  std::chrono::seconds longest_wait{0};
  /// Further ones of sbatch: "--constraint=big". "--nice" and "--deadline" replace the script's
  /// own.
  std::vector<std::string> options;
};

/// Every value is checked, and quoted where a shell could read it. Errors: `bad_request`; they name
/// the value and say what it may be.
[[nodiscard]] Result<std::string> batch_script(const PilotRequest& request);

/// By it a gateway's own pilots are found again. `mark`: the gateway's, letters and digits.
[[nodiscard]] std::string pilot_job_name(std::string_view mark);

}  // namespace orchid::pilot
