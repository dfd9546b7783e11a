// recording.h: what a stranger says to UCX, taken down where UCX reads it, to be said again where
// it must not.
#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "foundation/unique_fd.h"

namespace orchid::tests {

/// In the order in which they went over one TCP connection.
using Recording = std::vector<std::byte>;

/// Lets `stranger` talk to the UCX that listens at `port`, through us: he is given our port. Ends
/// when he does.
[[nodiscard]] Recording record(int port, const std::function<void(int port)>& stranger);

/// A connection of its own, over which all of it has been sent; it stays open.
[[nodiscard]] UniqueFd say_again(int port, const Recording& recording);

}  // namespace orchid::tests
