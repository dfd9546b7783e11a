#include "supervisor/pilot_owner.h"

#include "pilot/pilot_guard.h"
#include "supervisor/directories.h"
#include "supervisor/gateway_file.h"

namespace orchid::cli {
namespace {

using pilot::PilotOwner;

pilot::RunningGateway running(const GatewayFile& file) {
  return {
      .addresses = file.addresses, .token_file = file.token_file, .is_here = !file.socket.empty()};
}

/// Of a gateway that may have ended, and leaves its file behind.
Result<PilotOwner> owner_in(const std::filesystem::path& named) {
  std::error_code none;
  const auto below = named / "gateway";  // the gateway's own, in that of `orchid up`
  PilotOwner owner{.state = std::filesystem::exists(below / "lock", none) ? below : named};
  if (!std::filesystem::exists(owner.state / "lock", none))
    return fail(ErrorCode::not_found,
                named.string() +
                    " is not a gateway's state directory: name that of 'orchid up --state', or "
                    "'state' of the gateway's configuration");
  if (auto file = read_gateway_file(owner.state)) {
    pilot::RunningGateway gateway = running(*file);
    if (!gateway.is_here || pilot::has_gateway(owner.state)) owner.gateway = std::move(gateway);
  } else if (file.error().code != ErrorCode::not_found) {
    return fail(std::move(file.error()));
  }
  return owner;
}

Result<PilotOwner> owner_from_here(const std::string& gateway) {
  const UserSurroundings surroundings = real_user_surroundings();
  PilotOwner owner;
  auto file = find_clients_gateway_file(gateway, surroundings);
  if (file) {
    // The gateway's own, which is below that of `orchid up`.
    owner.state = std::filesystem::path(file->token_file).parent_path();
    if (owner.state.empty()) owner.state = file->state;
    owner.gateway = running(*file);
  } else {
    const bool asked_for = !gateway.empty() || surroundings.variable("ORCHID_GATEWAY").has_value();
    if (file.error().code != ErrorCode::not_found || asked_for)
      return fail(std::move(file.error()));
    auto state = state_directory(surroundings);
    if (!state) return fail(std::move(state.error()));
    owner.state = *state / "gateway";
  }
  return owner;
}

}  // namespace

Result<pilot::PilotOwner> find_pilot_owner(const std::string& gateway, const std::string& state) {
  auto owner = state.empty() ? owner_from_here(gateway) : owner_in(state);
  if (!owner) return owner;
  auto known = pilot::read_mark(owner->state);
  if (!known) return fail(std::move(known.error()));
  owner->mark = std::move(*known);
  return owner;
}

}  // namespace orchid::cli
