// commands/pilot_terms.h: what the commands that submit pilots are told alike.
#pragma once
#include <chrono>
#include <string>

#include "foundation/result.h"
#include "pilot/batch_script.h"
#include "pilot/pilot_owner.h"
#include "pilot/slurm_commands.h"

namespace CLI {
class App;
}

namespace orchid::cli {

/// How long what was started stays without a gateway, as options take it.
[[nodiscard]] std::string default_gateway_grace();
/// Such an option; `what` says what happens then. `text` lives as long as the command.
void add_gateway_grace(CLI::App& command, const std::string& name, std::string& text,
                       const std::string& what);

/// A value. `request` has what stands in the options; `complete` adds whose pilots they are.
struct PilotTerms {
  pilot::PilotRequest request;
  std::string host_identity = "boot";
  std::string gateway_grace = default_gateway_grace();
  std::string scheduling = "idle";
  std::string bandwidth_cap = "0";
  std::string data_memory;  // empty: not given
  std::string address;
  std::string programs;
  std::string host_socket;
  std::string state;
};
/// "--state", for commands about the pilots of a gateway.
void add_gateway_state(CLI::App& command, std::string& state);
/// `terms` lives as long as the command.
void add_pilot_terms(CLI::App& command, PilotTerms& terms);

/// A running gateway's, where pilots can be submitted. Errors: those of `find_pilot_owner` and
/// `pilot::prepare`.
[[nodiscard]] Result<pilot::PilotOwner> owner_for_pilots(const std::string& gateway,
                                                         const std::string& state);
/// Errors: `bad_configuration`, `bad_request`.
[[nodiscard]] Result<pilot::PilotRequest> complete(const PilotTerms& terms,
                                                   const pilot::PilotOwner& owner);

/// With the commands of the `sbatch` that is found in PATH.
[[nodiscard]] pilot::SlurmCommands slurm_commands();
[[nodiscard]] Result<std::chrono::seconds> seconds_of(const std::string& text, const char* option);

}  // namespace orchid::cli
