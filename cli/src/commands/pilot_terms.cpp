#include "commands/pilot_terms.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "foundation/amounts.h"
#include "pilot/pilot_logs.h"
#include "protocol/limits.h"
#include "supervisor/pilot_owner.h"
#include "terminal/programs.h"

namespace orchid::cli {

using pilot::PilotOwner;
using pilot::PilotRequest;

std::string default_gateway_grace() { return fmt::format("{}s", limits::gateway_grace.count()); }

void add_gateway_grace(CLI::App& command, const std::string& name, std::string& text,
                       const std::string& what) {
  command.add_option(name, text, fmt::format("{} (default: {})", what, default_gateway_grace()));
}

void add_gateway_state(CLI::App& command, std::string& state) {
  command.add_option(
      "--state", state,
      "state directory of 'orchid up' or of the gateway, if it is not the default one");
}

void add_pilot_terms(CLI::App& command, PilotTerms& terms) {
  add_gateway_state(command, terms.state);
  PilotRequest& request = terms.request;
  command.add_option("--partition", request.partition,
                     "choose a preemptible one, so that no other job waits");
  command.add_option("--qos", request.qos, "quality of service");
  command.add_option("--account", request.account, "the account that is charged");
  command
      .add_option("--host-identity", terms.host_identity,
                  "what tells nodes apart: boot (default), the machine's boot id; node, the node's "
                  "name, for several nodes on one machine")
      ->check(CLI::IsMember({"boot", "node"}));
  command.add_flag("--site", request.site,
                   "grant the cores to the site's service on each node (orchid-host), which knows "
                   "its gateway, instead of running an executor of your own");
  command.add_option("--host-socket", terms.host_socket,
                     "with --site: the socket of that service, if it is not the default one");
  command.add_option(
      "--address", terms.address,
      "HOST:PORT by which nodes reach the gateway (default: an address that it listens on)");
  command.add_option("--lane-listen", request.lane_listen,
                     "IP:PORT at which clients on other hosts reach a node's workers (default: "
                     "auto, the address by which the node reaches the gateway)");
  add_gateway_grace(command, "--gateway-grace", terms.gateway_grace,
                    "how long a pilot stays without an answer from the gateway");
  command
      .add_option("--scheduling", terms.scheduling,
                  "idle (default): functions run only when no other process wants the core; normal")
      ->check(CLI::IsMember({"idle", "normal"}));
  command.add_option("--bandwidth-cap", terms.bandwidth_cap,
                     "how much functions on one node may move between memory and cores in a "
                     "second, such as 2GiB (default: no cap)");
  command.add_option(
      "--data-memory", terms.data_memory,
      "of each node's memory, for data objects and leases of memory, such as 4GiB; 0: none "
      "(default: what is left when each core has 1GiB, at most 1GiB)");
  command.add_option("--programs", terms.programs,
                     "folder of Orchid's programs on the nodes (default: the same as here)");
  command.add_option("--option", request.options, "a further option of sbatch; can be repeated")
      ->allow_extra_args(false);
}

Result<PilotOwner> owner_for_pilots(const std::string& gateway, const std::string& state) {
  auto owner = find_pilot_owner(gateway, state);
  if (!owner) return owner;
  if (auto prepared = pilot::prepare(*owner); !prepared) return fail(std::move(prepared.error()));
  return owner;
}

Result<PilotRequest> complete(const PilotTerms& terms, const PilotOwner& owner) {
  PilotRequest request = terms.request;
  auto grace = seconds_of(terms.gateway_grace, "--gateway-grace");
  if (!grace) return fail(std::move(grace.error()));
  auto gateway =
      request.site ? Result<std::string>("") : owner.gateway->address_for_nodes(terms.address);
  if (!gateway) return fail(std::move(gateway.error()));
  const auto programs = terms.programs.empty() ? own_program_directory()
                                               : Result<std::filesystem::path>(terms.programs);
  if (!programs) return fail(programs.error());
  if (terms.bandwidth_cap != "0") {
    auto cap = parse_byte_count(terms.bandwidth_cap);
    if (!cap) return fail(std::move(cap.error()).while_doing("--bandwidth-cap"));
    request.bandwidth_cap = *cap;
  }
  if (!terms.data_memory.empty()) {
    auto data = parse_byte_count(terms.data_memory);
    if (!data) return fail(std::move(data.error()).while_doing("--data-memory"));
    request.data_memory = *data;
  }
  request.gives_way = terms.scheduling == "idle";
  request.gateway_grace = *grace;
  request.gateway = std::move(*gateway);
  request.job_name = pilot::pilot_job_name(owner.mark);
  request.token_file = owner.gateway->token_file;
  request.program = *programs / (request.site ? "orchid-grant" : "orchid-executor");
  request.host_socket = terms.host_socket;
  request.commands = folder_of_program("sbatch");
  request.host_identity =
      terms.host_identity == "node" ? pilot::HostIdentity::node : pilot::HostIdentity::boot;
  request.log_file = pilot::log_of_any(owner.log_folder());
  return request;
}

pilot::SlurmCommands slurm_commands() {
  return pilot::SlurmCommands({.folder = folder_of_program("sbatch")});
}

Result<std::chrono::seconds> seconds_of(const std::string& text, const char* option) {
  auto duration = parse_duration(text);
  if (!duration) return fail(std::move(duration.error()).while_doing(option));
  return std::chrono::ceil<std::chrono::seconds>(*duration);
}

}  // namespace orchid::cli
