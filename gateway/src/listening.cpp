#include "listening.h"

#include <unistd.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "foundation/host_addresses.h"
#include "foundation/log.h"

namespace orchid::gateway {
namespace {

Result<std::vector<ListeningSocket>> listen_for_http(const Config& config) {
  std::vector<ListeningSocket> sockets;
  for (const std::string& address : config.listen) {
    auto socket = listen_tcp(address);
    if (!socket && socket.error().code == ErrorCode::unsupported) {
      log::warn("event=not_listening reason=\"{}\"", socket.error().message);
      continue;
    }
    if (!socket) return fail(std::move(socket.error()));
    sockets.push_back(std::move(*socket));
  }
  auto local = listen_unix(config.socket, config.socket_users == SocketUsers::everybody
                                              ? UnixPeers::anybody_by_uid
                                              : UnixPeers::by_uid);
  if (!local) return fail(std::move(local.error()));
  sockets.push_back(std::move(*local));
  if (config.door_listen.empty()) return sockets;
  // The door's clients are not its user: they need a token here as anywhere.
  auto door = listen_unix(door_socket(config), UnixPeers::by_token);
  if (!door) return fail(std::move(door.error()));
  sockets.push_back(std::move(*door));
  return sockets;
}

}  // namespace

std::filesystem::path door_socket(const Config& config) { return config.state / "door.sock"; }

std::string announce(const Config& config, const std::vector<std::string>& urls,
                     const std::string& door) {
  return nlohmann::ordered_json{{"pid", ::getpid()},
                                {"version", ORCHID_VERSION},
                                {"host", own_host_name()},
                                {"boot_id", own_boot_id()},
                                {"urls", urls},
                                {"door", door},
                                {"socket", config.socket.string()},
                                {"state", config.state.string()},
                                {"token_file", (config.state / "token").string()}}
             .dump() +
         "\n";
}

Result<ListeningSockets> listen_all(const Config& config) {
  auto http = listen_for_http(config);
  if (!http) return fail(std::move(http.error()));
  ListeningSockets sockets{.http = std::move(*http), .door = std::nullopt};
  if (config.door_listen.empty()) return sockets;
  auto door = orchid::listen_tcp(config.door_listen);
  if (!door) return fail(std::move(door.error()).while_doing("door_listen"));
  sockets.door = std::move(*door);
  return sockets;
}

}  // namespace orchid::gateway
