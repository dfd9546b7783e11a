// http/precondition.h: the fields that make a request depend on what is there now (RFC 9110 §13).
// Pure functions.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/result.h"
#include "http/request.h"

namespace orchid::gateway {

/// What has to hold for a request to change something. A value.
struct Precondition {
  std::vector<std::string> if_match;  // empty: nothing; "*": any version
  bool if_none_match = false;         // the name must be free

  /// `now`: the tag of what is there; nothing: nothing is.
  [[nodiscard]] bool is_met_by(const std::optional<std::string>& now) const;
};

/// If-Match and If-None-Match of a request that changes something. Errors: `bad_request`.
[[nodiscard]] Result<Precondition> parse_precondition(const Request& request);

/// Whether this list of tags, the If-None-Match of a request that reads, names `tag` or any. What
/// is not a list of tags names none.
[[nodiscard]] bool names_tag(std::string_view tags, std::string_view tag);

}  // namespace orchid::gateway
