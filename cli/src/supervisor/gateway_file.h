// supervisor/gateway_file.h: gateway.json, by which clients of the same user find a running Orchid.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "foundation/result.h"
#include "supervisor/directories.h"

namespace orchid::cli {

struct GatewayFile {
  std::string host = {};               // where it runs; empty: here
  std::vector<std::string> addresses;  // "http://127.0.0.1:41523", the one for people first
  std::string door = {};               // "ucx://192.0.2.7:4711"; empty: none
  std::string socket;
  std::string token_file;
  std::string state;
  std::string version;
  int pid = 0;  // of `orchid up`
};

/// Replaces the file in `runtime` as a whole; mode 0600. Errors: `disk_full`, `system`.
[[nodiscard]] Result<void> write_gateway_file(const std::filesystem::path& runtime,
                                              const GatewayFile& file);
/// As seen from this host: that of a gateway on another host has no socket, and only addresses that
/// other hosts reach. Errors: `not_found`, `bad_configuration` (damaged), `denied` (another user
/// wrote it), `system`.
[[nodiscard]] Result<GatewayFile> read_gateway_file(const std::filesystem::path& runtime);
/// The first of a gateway that listens at its socket or is on another host, or else the first that
/// is there: whoever is killed leaves it behind. Errors: `not_found` (the message names the
/// places), and as above.
[[nodiscard]] Result<GatewayFile> find_gateway_file(
    const std::vector<std::filesystem::path>& places);
/// That of the Orchid which clients reach: with `gateway` ("unix:/path", "http://…"), with
/// $ORCHID_GATEWAY where that is empty, or by looking for one. Errors: as above; `not_found` also
/// for a gateway that runs elsewhere.
[[nodiscard]] Result<GatewayFile> find_clients_gateway_file(const std::string& gateway,
                                                            const UserSurroundings& surroundings);
void remove_gateway_file(const std::filesystem::path& runtime);

}  // namespace orchid::cli
