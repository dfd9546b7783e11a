#include "crew/join_crew.h"

#include <unistd.h>

#include <chrono>
#include <utility>
#include <variant>

#include "foundation/sockets.h"
#include "transport/crew_mesh.h"

namespace orchid::executor {
namespace {

/// All others connect at the same time.
constexpr std::chrono::seconds wiring_patience{10};

/// Nothing else is said to a worker that is not ready.
WireCrew await_peers(int control) {
  for (;;) {
    auto packet = receive_packet(control, true);
    if (!packet || !*packet) ::_exit(0);  // the agent is gone
    auto message = parse_worker_message((*packet)->text);
    if (!message) continue;
    if (auto* wire = std::get_if<WireCrew>(&*message)) return std::move(*wire);
  }
}

}  // namespace

Result<void> join_crew(CrewLane& lane, transport::UcxContext& context, const RemoteLane& remote,
                       int control) {
  auto door = transport::CrewDoor::listen(remote.address);
  if (!door) return fail(std::move(door.error()));
  const WorkerListening listening{.port = static_cast<std::uint16_t>(door->port())};
  if (auto told = send_packet(control, encode(listening)); !told)
    return fail(std::move(told.error()));
  const WireCrew wire = await_peers(control);
  transport::CrewMesh::Options options{
      .member = lane.place().member,
      .peers = {},
      .deadline = std::chrono::steady_clock::now() + wiring_patience};
  for (const CrewPeer& peer : wire.peers) {
    const auto key = transport::parse_connection_key(peer.key);
    if (!key) return fail(key.error());
    options.peers.push_back({.member = peer.member, .key = *key, .address = peer.address});
  }
  auto mesh = transport::CrewMesh::wire(context, &*door, options);
  if (!mesh) return fail(std::move(mesh.error()));
  return lane.join(std::move(*mesh));
}

}  // namespace orchid::executor
