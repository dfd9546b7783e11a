// The order: nothing but the agent's first message is read before the process is confined, and
// nothing that a worker has sent.
#include "depot_process.h"

#include <optional>
#include <variant>

#include "depot_server.h"
#include "foundation/log.h"
#include "foundation/sockets.h"
#include "protocol/depot_messages.h"
#include "sandbox/confinement.h"

namespace orchid::executor {
namespace {

constexpr int standard_error = 2;

std::optional<DepotStart> await_start(int control) {
  auto packet = receive_packet(control, true);
  if (!packet || !*packet) return std::nullopt;
  auto message = parse_depot_message((*packet)->text);
  const auto* start = message ? std::get_if<DepotStart>(&*message) : nullptr;
  if (start == nullptr) return std::nullopt;
  return *start;
}

Result<void> give_up_rights(const DepotStart& start, int control, int parent_pid) {
  const ConfinementOptions options{.role = SandboxRole::depot,
                                   .data_limit = start.data_limit,
                                   .parent_pid = parent_pid,
                                   .keep_descriptors = {0, 1, standard_error, control}};
  if (auto confined = confine(options); !confined) return confined;
  return confine_further(options);
}

}  // namespace

int run_depot_process(int control, int parent_pid) {
  const auto start = await_start(control);
  if (!start) return 1;
  if (auto confined = give_up_rights(*start, control, parent_pid); !confined) {
    log::error("event=cannot_start tenant={} reason=\"{}\"", start->tenant.uid,
               confined.error().message);
    return 1;
  }
  if (!send_packet(control, encode(DepotReady{}))) return 0;
  return DepotServer(control).run();
}

}  // namespace orchid::executor
