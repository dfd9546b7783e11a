// supervisor/gateway_file.h: gateway.json, by which clients of the same user find a running Orchid.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "foundation/result.h"

namespace orchid::cli {

struct GatewayFile {
  std::vector<std::string> addresses;  // "http://127.0.0.1:41523", the one for people first
  std::string socket;
  std::string token_file;
  std::string state;
  std::string version;
  int pid = 0;  // of `orchid up`
};

/// Replaces the file in `runtime` as a whole; mode 0600. Errors: `disk_full`, `system`.
[[nodiscard]] Result<void> write_gateway_file(const std::filesystem::path& runtime,
                                              const GatewayFile& file);
/// Errors: `not_found`, `bad_configuration` (damaged), `system`.
[[nodiscard]] Result<GatewayFile> read_gateway_file(const std::filesystem::path& runtime);
/// The first that is there. Errors: `not_found` (the message names the places), and as above.
[[nodiscard]] Result<GatewayFile> find_gateway_file(
    const std::vector<std::filesystem::path>& places);
void remove_gateway_file(const std::filesystem::path& runtime);

}  // namespace orchid::cli
