// api/discovery.h: finds the gateway and the token: options, then environment, then the file that
// `orchid up` leaves.
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "http/http_exchange.h"
#include "orchid/client.h"

namespace orchid::sdk {

/// What discovery looks at; tests pass their own.
struct Surroundings {
  std::function<std::optional<std::string>(const std::string& name)> variable;
  std::function<bool(const std::filesystem::path&)>
      can_connect;  // somebody listens there, and takes this user
  uid_t uid = 0;
  std::string home;     // of this user; empty: there is none
  std::string boot_id;  // of this host
};
[[nodiscard]] Surroundings real_surroundings();

/// Where gateway.json may be, the first choice first: the runtime directories of this host, then
/// the gateway's state directory, which all hosts of a cluster see.
[[nodiscard]] std::vector<std::filesystem::path> gateway_file_places(
    const Surroundings& surroundings);

/// Errors (thrown `orchid::Error`): `bad_configuration`, `unreachable` (nothing found; the message
/// says where it looked; or it runs on another host and listens there only), `denied` (a
/// gateway.json that another user wrote).
[[nodiscard]] Endpoint find_gateway(const ClientOptions& options, const Surroundings& surroundings);

}  // namespace orchid::sdk
