// listening.h: where the gateway is reached, as the configuration says.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "foundation/result.h"
#include "foundation/tcp.h"
#include "server/listening_socket.h"

namespace orchid::gateway {

struct ListeningSockets {
  std::vector<ListeningSocket> http;
  std::optional<TcpListener> door;  // where orchid-door accepts clients; nothing: there is no door
};

/// The Unix socket at which the door speaks HTTP for its clients.
[[nodiscard]] std::filesystem::path door_socket(const Config& config);

/// A line of JSON for whoever waits until the gateway is reached: `urls` and `door` are as clients
/// write them.
[[nodiscard]] std::string announce(const Config& config, const std::vector<std::string>& urls,
                                   const std::string& door);

/// Errors: an address that cannot be had, with its name.
[[nodiscard]] Result<ListeningSockets> listen_all(const Config& config);

}  // namespace orchid::gateway
