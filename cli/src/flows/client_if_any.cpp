#include "flows/client_if_any.h"

namespace orchid::cli {

std::expected<Client, std::string> client_if_any(const Shell& shell) {
  try {
    Client client = shell.client();
    (void)client.get("/v1/limits");
    return client;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unreachable && error.kind() != ErrorKind::bad_configuration &&
        error.kind() != ErrorKind::not_found)
      throw;
    return std::unexpected(std::string(error.message()));
  }
}

}  // namespace orchid::cli
