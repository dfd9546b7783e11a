// foundation/error_code.h: the stable codes of failures. Their names are on the wire, in HTTP
// problem types and in the CLI's JSON; never rename one.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace orchid {

enum class ErrorCode : std::uint8_t {
  internal,           // a bug of ours
  bad_request,        // malformed input of a client
  bad_configuration,  // a file or flag is wrong
  unauthenticated,    // no token, or a wrong one
  denied,             // authenticated, but not allowed
  not_found,
  conflict,         // exists already with another content, or a precondition failed
  too_large,        // over a stated limit
  module_rejected,  // the module cannot run here; the message lists everything that is wrong
  no_capacity,      // nothing free now; try again
  quota,            // the tenant's own limit
  unreachable,      // a peer does not answer
  timed_out,
  cancelled,
  lease_ended,  // released, expired or revoked; take a new one
  disk_full,
  unsupported,     // this host, kernel or version cannot do it
  system,          // the operating system refused; the message has errno's text
  compile_limit,   // the module takes more time or memory to compile than this host gives it
  no_data_memory,  // no executor has room for a data object; the message says what would help
  data_lost,       // no copy of a data object is left
  data_elsewhere,  // no host has all data objects of the call
};

[[nodiscard]] std::string_view to_string(ErrorCode code);
[[nodiscard]] std::optional<ErrorCode> parse_error_code(std::string_view name);

}  // namespace orchid
