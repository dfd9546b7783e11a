// src/guest.h: the process that serves one client of the door.
//
// Whoever holds a UCX connection can write to the memory of the process at its other end, so this
// process belongs to its client from the first byte of UCX on. Before that it has given up
// everything but its sockets: it reaches no file, no other process, and no host, and the gateway
// asks for the client's token on the one connection there that it has.
#pragma once
#include <sys/types.h>

#include <cstdint>

#include "foundation/unique_fd.h"

namespace orchid::door {

/// What a guest says to the process that made it, one packet each.
constexpr char guest_admitted[] = "admitted";      // the gateway knows the token
constexpr char guest_wants_gateway[] = "gateway";  // another connection to the gateway
constexpr char gateway_comes[] = "here";           // the answer, with a descriptor
constexpr char gateway_is_gone[] = "gone";         // the answer, without one

struct GuestParts {
  UniqueFd client;   // the plain TCP connection, whose hello has been read
  UniqueFd parent;   // packets
  UniqueFd gateway;  // connected; -1: the gateway could not be reached
  std::uint16_t token_bytes = 0;
  pid_t parent_pid = 0;
};

/// In a process that was forked for it. Serves the client until either goes; the exit status.
[[nodiscard]] int live_as_guest(GuestParts parts);

}  // namespace orchid::door
