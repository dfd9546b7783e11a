// uct_stranger.h: what a stranger can say to UCX's TCP transport, below UCP: puts to an address of
// its choice, and UCP's own messages with a content of its choice.
#pragma once
#include <cstdint>
#include <span>

namespace orchid::tests {

/// In a process of its own: connects to a TCP port of this host as UCX does, and puts 32 times 'A'
/// at `target`. Nothing but public functions of libuct. Ends after two seconds at most. False: no
/// UCX has let it come so far.
[[nodiscard]] bool put_by_force(int port, std::uint64_t target);

/// UCP numbers its messages: 9 to 12 and 16 are those of rendezvous (request, "take it", "send it",
/// data, done). Numbers that a release does not use are dropped by it.
constexpr unsigned first_message = 1;
constexpr unsigned last_message = 31;
/// In a process of its own: connects in the same way, and sends message `number` once for each of
/// `words`, with nothing but that word in it, over and over: ids, addresses, lengths and keys are
/// all it. Ends after a second at most. False: not one has been sent.
[[nodiscard]] bool send_by_force(int port, unsigned number, std::span<const std::uint64_t> words);

}  // namespace orchid::tests
