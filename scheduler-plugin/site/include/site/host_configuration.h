// site/host_configuration.h: what orchid-host can be told, by flag.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "foundation/result.h"
#include "site/grant_decision.h"
#include "site/step_proof.h"

namespace orchid::site {

struct HostConfiguration {
  std::string gateway;               // "host:port", or "unix:/path" of one on this host; required
  std::filesystem::path token_file;  // of the gateway's own user; root reads it; required for TCP
  std::filesystem::path socket = "/run/orchid/host.sock";  // where placeholders come
  std::filesystem::path state = "/var/lib/orchid/host";    // compiled code; root's alone
  std::filesystem::path runtime = "/run/orchid/host";      // executors' sockets; root's alone
  std::filesystem::path executor;  // default: orchid-executor beside this program
  uid_t first_uid = 0;             // of the executors; required, with the next
  std::uint32_t slots = 0;         // how many uids, and so grants at a time; 1 to 4 096
  SitePolicy policy;
  std::string lane_listen = "auto";  // "IP:port", "none", or the address towards the gateway
  bool host_is_node = false;         // several nodes are one machine
  std::string node;                  // as Slurm calls this host; default: its name up to a dot
  std::string cluster;               // as slurm.conf names it; may be empty
  std::filesystem::path slurm_commands = "/usr/bin";
  ProofOptions proof;
  std::vector<std::string> executor_options;  // further words for each executor
};

/// Errors: `bad_configuration`. `exit_status` is set when --help or --version was printed and the
/// program should end.
struct ParsedHostConfiguration {
  HostConfiguration configuration;
  int exit_status = -1;
};
[[nodiscard]] Result<ParsedHostConfiguration> parse_host_configuration(int argc, char** argv);

/// "700000-700255". Errors: `bad_configuration`: no such range, or it holds root or uids that
/// people get.
struct UidRange {
  uid_t first = 0;
  std::uint32_t count = 0;
};
[[nodiscard]] Result<UidRange> parse_uid_range(std::string_view text);

}  // namespace orchid::site
