// pilots/pilot_place.h: whose pilots: those of the gateway that is reached from here.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "foundation/result.h"
#include "supervisor/gateway_file.h"

namespace orchid::cli {

/// A value.
struct PilotPlace {
  std::optional<GatewayFile> gateway;  // nothing: it does not run; its pilots may
  std::filesystem::path state;         // the folder of that gateway, with its token
  std::string mark;                    // in its pilots' names; empty: it has started none

  /// "HOST:PORT": `wanted`, or else one of its addresses that is no loopback's. Errors:
  /// `bad_configuration`: there is none.
  [[nodiscard]] Result<std::string> address_for_nodes(const std::string& wanted) const;
  [[nodiscard]] std::filesystem::path log_folder() const { return state / "pilots"; }
};

/// "10.0.0.5:8080" of a gateway's "http://10.0.0.5:8080/".
[[nodiscard]] std::string_view host_and_port(std::string_view url);
/// `state`: the folder of `orchid up --state`, or a gateway's own; empty: that of the gateway which
/// `gateway` or the environment names, or of the one that is found from here. Errors:
/// `bad_configuration`, `not_found` (a gateway that runs elsewhere, a folder that is none's),
/// `denied`, `system`.
[[nodiscard]] Result<PilotPlace> find_pilot_place(const std::string& gateway,
                                                  const std::string& state = {});
/// Of the gateway with that state directory; empty: it has started no pilot. Errors:
/// `bad_configuration` (damaged), `denied`, `system`.
[[nodiscard]] Result<std::string> read_mark(const std::filesystem::path& state);
/// Gives the place a mark, which stays with its state. Errors: `system`, `disk_full`.
[[nodiscard]] Result<void> mark(PilotPlace& place);

}  // namespace orchid::cli
