// calls/typed_call.h: arguments and results of typed entries on the command line.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "foundation/result.h"
#include "orchid/client.h"

namespace orchid::cli {

/// The entry that `reference` ("N", "N.E", "N.E@version") means, and what it is an entry of.
/// Errors: `bad_request` (several entries), `not_found`. Throws `orchid::Error` when the gateway
/// does not know the function.
struct FoundEntry {
  FunctionInfo function;
  std::string signature;  // empty: for raw bytes
};
[[nodiscard]] Result<FoundEntry> find_entry(Client& client, const std::string& reference);

/// Its signature. Errors: `bad_request` also for raw bytes. Throws as above.
[[nodiscard]] Result<std::string> find_signature(Client& client, const std::string& reference);

/// `json`: all arguments as one array. Errors: `bad_request`.
[[nodiscard]] Result<std::vector<std::byte>> encode_json_arguments(const std::string& signature,
                                                                   const std::string& json);
/// A .npy file for each argument. Errors: `bad_request`, and those of reading files.
[[nodiscard]] Result<std::vector<std::byte>> encode_npy_arguments(
    const std::string& signature, const std::vector<std::string>& files);
/// The result as JSON text. Errors: `bad_request`.
[[nodiscard]] Result<std::string> decode_output(const std::string& signature,
                                                const std::vector<std::byte>& output);

}  // namespace orchid::cli
