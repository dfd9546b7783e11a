#include "pilots/pilot_place.h"

#include <algorithm>

#include "foundation/files.h"
#include "foundation/host_addresses.h"
#include "foundation/random.h"
#include "pilots/pilot_guard.h"
#include "pilots/submission_gate.h"

namespace orchid::cli {
namespace {

constexpr std::chrono::seconds others_submit_within{30};

std::filesystem::path mark_file(const std::filesystem::path& state) { return state / "pilot-mark"; }

bool is_mark(std::string_view text) {
  return text.size() == 12 && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

/// Of a gateway that may have ended, and leaves its file behind.
Result<PilotPlace> place_in(const std::filesystem::path& named) {
  std::error_code none;
  const auto below = named / "gateway";  // the gateway's own, in that of `orchid up`
  PilotPlace place{.state = std::filesystem::exists(below / "lock", none) ? below : named};
  if (!std::filesystem::exists(place.state / "lock", none))
    return fail(ErrorCode::not_found,
                named.string() +
                    " is not a gateway's state directory: name that of 'orchid up --state', or "
                    "'state' of the gateway's configuration");
  if (auto file = read_gateway_file(place.state)) {
    const bool is_here = !file->socket.empty();
    if (!is_here || has_gateway(place.state)) place.gateway = std::move(*file);
  } else if (file.error().code != ErrorCode::not_found) {
    return fail(std::move(file.error()));
  }
  return place;
}

Result<PilotPlace> place_from_here(const std::string& gateway) {
  const UserSurroundings surroundings = real_user_surroundings();
  PilotPlace place;
  auto file = find_clients_gateway_file(gateway, surroundings);
  if (file) {
    // The gateway's own, which is below that of `orchid up`.
    place.state = std::filesystem::path(file->token_file).parent_path();
    if (place.state.empty()) place.state = file->state;
    place.gateway = std::move(*file);
  } else {
    const bool asked_for = !gateway.empty() || surroundings.variable("ORCHID_GATEWAY").has_value();
    if (file.error().code != ErrorCode::not_found || asked_for)
      return fail(std::move(file.error()));
    auto state = state_directory(surroundings);
    if (!state) return fail(std::move(state.error()));
    place.state = *state / "gateway";
  }
  return place;
}

}  // namespace

Result<std::string> read_mark(const std::filesystem::path& state) {
  const auto content = read_file(mark_file(state), 4_KiB);
  if (!content && content.error().code == ErrorCode::not_found) return std::string();
  if (!content) return fail(content.error());
  std::string text(as_text(*content));
  text.erase(text.find_last_not_of("\r\n") + 1);
  if (is_mark(text)) return text;
  return fail(ErrorCode::bad_configuration,
              mark_file(state).string() +
                  " is damaged, so this gateway's pilots cannot be recognised: find them with "
                  "'squeue --me', cancel them with scancel, and remove the file");
}

std::string_view host_and_port(std::string_view url) {
  if (url.starts_with("http://")) url.remove_prefix(7);
  while (url.ends_with('/')) url.remove_suffix(1);
  return url;
}

Result<std::string> PilotPlace::address_for_nodes(const std::string& wanted) const {
  if (!wanted.empty()) return wanted;
  for (const std::string& url : gateway->addresses)
    if (const auto address = host_and_port(url); !is_loopback(address))
      return with_host(address, own_host_name());
  return fail(ErrorCode::bad_configuration,
              "the gateway can be reached from this host only, and not from nodes: start it with "
              "'orchid up --listen IP:PORT', or say with --address HOST:PORT how nodes reach it");
}

Result<PilotPlace> find_pilot_place(const std::string& gateway, const std::string& state) {
  auto place = state.empty() ? place_from_here(gateway) : place_in(state);
  if (!place) return place;
  auto known = read_mark(place->state);
  if (!known) return fail(std::move(known.error()));
  place->mark = std::move(*known);
  return place;
}

Result<void> mark(PilotPlace& place) {
  if (!place.mark.empty()) return {};
  // Of two at once the second one has the mark of the first.
  const auto alone = SubmissionGate(place.state).enter(others_submit_within);
  if (!alone) return fail(alone.error());
  auto known = read_mark(place.state);
  if (!known) return fail(std::move(known.error()));
  place.mark = std::move(*known);
  if (!place.mark.empty()) return {};
  const std::string fresh = random_hex(6) + "\n";
  if (auto written = write_file_atomically(mark_file(place.state), as_bytes(fresh)); !written)
    return written;
  place.mark = fresh.substr(0, fresh.size() - 1);
  return {};
}

}  // namespace orchid::cli
