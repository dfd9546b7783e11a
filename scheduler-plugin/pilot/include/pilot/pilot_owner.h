// pilot/pilot_owner.h: whose pilots: those of one gateway, which its state directory tells.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/result.h"
#include "pilot/slurm_commands.h"

namespace orchid::pilot {

/// A value.
struct RunningGateway {
  std::vector<std::string> addresses;  // "http://10.0.0.5:8080", the one for people first
  std::string token_file;
  bool is_here = false;  // on this host

  /// "HOST:PORT": `wanted`, or else one of its addresses that is no loopback's. Errors:
  /// `bad_configuration`: there is none.
  [[nodiscard]] Result<std::string> address_for_nodes(const std::string& wanted) const;
};

/// A value.
struct PilotOwner {
  std::optional<RunningGateway> gateway;  // nothing: it does not run; its pilots may
  std::filesystem::path state;            // the folder of that gateway, with its token
  std::string mark;                       // in its pilots' names; empty: it has started none

  [[nodiscard]] std::filesystem::path log_folder() const { return state / "pilots"; }
};

/// "10.0.0.5:8080" of a gateway's "http://10.0.0.5:8080/".
[[nodiscard]] std::string_view host_and_port(std::string_view url);
/// Of the gateway with that state directory; empty: it has started no pilot. Errors:
/// `bad_configuration` (damaged), `denied`, `system`.
[[nodiscard]] Result<std::string> read_mark(const std::filesystem::path& state);
/// Gives the owner a mark, which stays with its state. Errors: `system`, `disk_full`.
[[nodiscard]] Result<void> mark(PilotOwner& owner);
/// For pilots that are to be submitted: a mark, and a folder for logs. Errors: `unreachable`: its
/// gateway does not run; those of `mark`.
[[nodiscard]] Result<void> prepare(PilotOwner& owner);
/// Those that wait and run. Errors: those of `SlurmCommands`.
[[nodiscard]] Result<std::vector<PilotJob>> pilots_of(const PilotOwner& owner,
                                                      const SlurmCommands& slurm);

}  // namespace orchid::pilot
