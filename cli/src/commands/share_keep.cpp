// commands/share_keep.cpp: orchid share keep: what the step of a share runs on each of its nodes.
#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "commands/commands.h"
#include "commands/pilot_terms.h"
#include "foundation/amounts.h"
#include "share/share_on_node.h"
#include "terminal/programs.h"

namespace orchid::cli {
namespace {

struct ShareKeepArguments {
  bool site = false;
  std::string host_socket;
  std::string users = "owner";
  std::string address;
  std::string token_file;
  std::string lane_listen = "auto";
  std::string host_identity = "boot";
  std::string gateway_grace = default_gateway_grace();
  std::string ends_in;
  std::string memory;
  std::string memory_per_cpu;
  std::string memory_per_node;
  std::string bandwidth_cap;
  std::string data_memory;
  std::uint32_t cores = 0;
};

/// Nothing: no amount is said.
Result<std::optional<ByteCount>> amount_of(const std::string& text, const char* flag) {
  if (text.empty()) return std::nullopt;
  auto amount = parse_byte_count(text);
  if (!amount) return fail(std::move(amount.error()).while_doing(flag));
  return std::optional(*amount);
}

Result<std::optional<std::chrono::seconds>> time_of(const std::string& text, const char* flag) {
  if (text.empty()) return std::nullopt;
  auto time = seconds_of(text, flag);
  if (!time) return fail(std::move(time.error()));
  return std::optional(*time);
}

Result<share::ShareOnNode> share_of(const ShareKeepArguments& arguments) {
  const auto grace = seconds_of(arguments.gateway_grace, "--gateway-grace");
  if (!grace) return fail(grace.error());
  const auto ends_in = time_of(arguments.ends_in, "--ends-in");
  if (!ends_in) return fail(ends_in.error());
  const auto memory = amount_of(arguments.memory, "--memory");
  if (!memory) return fail(memory.error());
  const auto per_cpu = amount_of(arguments.memory_per_cpu, "--memory-per-cpu");
  if (!per_cpu) return fail(per_cpu.error());
  const auto per_node = amount_of(arguments.memory_per_node, "--memory-per-node");
  if (!per_node) return fail(per_node.error());
  auto programs = own_program_directory();
  if (!programs) return fail(std::move(programs.error()));
  return share::ShareOnNode{.site = arguments.site,
                            .host_socket = arguments.host_socket,
                            .users = arguments.users,
                            .gateway = arguments.address,
                            .token_file = arguments.token_file,
                            .lane_listen = arguments.lane_listen,
                            .host_is_node = arguments.host_identity == "node",
                            .programs = std::move(*programs),
                            .slurm_folder = folder_of_program("srun"),
                            .gateway_grace = *grace,
                            .ends_in = *ends_in,
                            .memory = *memory,
                            .memory_per_cpu = *per_cpu,
                            .memory_per_node = *per_node,
                            .bandwidth_cap = arguments.bandwidth_cap,
                            .data_memory = arguments.data_memory,
                            .cores = arguments.cores};
}

ExitStatus run_share_keep(Shell& shell, const ShareKeepArguments& arguments) {
  const auto share = share_of(arguments);
  if (!share) return shell.report(share.error());
  const auto kept =
      share::keep_share(*share, [&shell](const std::string& line) { shell.note(line); });
  return kept ? ExitStatus::ok : shell.report(kept.error());
}

}  // namespace

void add_share_keep(CLI::App& shares, Shell& shell) {
  auto* command = add_command(shares, shell, "keep",
                              "The program that a share's step runs on each node of the job",
                              "  ('orchid share start' inside a job makes Slurm run this)");
  auto arguments = std::make_shared<ShareKeepArguments>();
  command->add_flag("--site", arguments->site, "grant to the site's service on this node");
  command->add_option("--host-socket", arguments->host_socket,
                      "with --site: that service's socket");
  command->add_option("--for", arguments->users, "with --site: owner or everybody")
      ->check(CLI::IsMember({"owner", "everybody"}));
  command->add_option("--address", arguments->address, "HOST:PORT of the gateway");
  command->add_option("--token-file", arguments->token_file, "file with the token");
  command->add_option("--lane-listen", arguments->lane_listen,
                      "IP:PORT at which clients on other hosts reach workers (default: auto, the "
                      "address by which this node reaches the gateway)");
  command->add_option("--host-identity", arguments->host_identity, "boot or node")
      ->check(CLI::IsMember({"boot", "node"}));
  add_gateway_grace(*command, "--gateway-grace", arguments->gateway_grace,
                    "how long to stay without an answer from the gateway");
  command->add_option("--ends-in", arguments->ends_in, "the time until the job ends");
  command->add_option(
      "--memory", arguments->memory,
      "the most memory for functions (default: what the job has for the shared cores)");
  command->add_option("--memory-per-cpu", arguments->memory_per_cpu, "that the job has");
  command->add_option("--memory-per-node", arguments->memory_per_node, "that the job has");
  command->add_option("--bandwidth-cap", arguments->bandwidth_cap,
                      "the most bytes that functions may move in a second");
  command->add_option("--data-memory", arguments->data_memory,
                      "of the memory, for data objects and leases of memory");
  command->add_option("--cores", arguments->cores,
                      "the most cores to share; 0: all that nobody uses");
  command->callback([&shell, arguments] { shell.status = run_share_keep(shell, *arguments); });
}

}  // namespace orchid::cli
