// uct_put.h: what a stranger can make UCX's TCP transport do: write to an address of its choice.
#pragma once
#include <cstdint>

namespace orchid::tests {

/// In a process of its own: connects to a TCP port of this host as UCX does, and puts 32 times 'A'
/// at `target`. Nothing but public functions of libuct. Ends after two seconds at most.
void put_by_force(int port, std::uint64_t target);

}  // namespace orchid::tests
