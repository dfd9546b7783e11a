// calls/typed_call.h: arguments and results of typed entries on the command line.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "foundation/result.h"
#include "orchid/client.h"

namespace orchid::cli {

/// The signature of the entry that `reference` ("N", "N.E", "N.E@version") means. Errors:
/// `bad_request` (several entries, or one for raw bytes), `not_found`. Throws `orchid::Error` when
/// the gateway does not know the function.
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
