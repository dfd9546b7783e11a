// data/data_access.h: how this program gets at the bytes of rooms and objects by itself, over the
// lane socket of the executor that has them (docs/PROTOCOL.md §3, "Data").
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "foundation/result.h"
#include "foundation/unique_fd.h"
#include "protocol/lane_messages.h"

namespace orchid::sdk {

/// What the gateway tells of one, for its user alone.
struct DataAccessGrant {
  DataId data;
  std::string label;
  std::uint64_t bytes = 0;
  std::string secret;  // never logged
  std::string lane_socket;
  std::string boot_id;
};
/// Throws `orchid::Error` (`internal`) when the text is not what the API promises.
[[nodiscard]] DataAccessGrant parse_data_access(std::string_view text);

struct OpenedBytes {
  UniqueFd file;
  UniqueFd loan;  // of a reader: to be closed after the file and all mappings of it
};
/// Errors: `unsupported` (another host), `unreachable`, and what the executor refuses with.
[[nodiscard]] Result<OpenedBytes> open_bytes(const DataAccessGrant& grant, DataAccess access);

}  // namespace orchid::sdk
