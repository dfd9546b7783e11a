#include "http/precondition.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "http/request_options.h"

namespace orchid::gateway {
namespace {

/// The first entity tag of a list, which may contain commas, or '*'; nothing: it is none. A weak
/// tag keeps its mark, so that it is no version's (RFC 9110 §8.8.3, §13.1.1).
std::optional<std::string> take_tag(std::string_view& tags) {
  std::string tag;
  if (tags.starts_with('*')) {
    tag = "*";
    tags.remove_prefix(1);
  } else {
    if (tags.starts_with("W/")) {
      tag = "W/";
      tags.remove_prefix(2);
    }
    const std::size_t end = tags.starts_with('"') ? tags.find('"', 1) : std::string_view::npos;
    if (end == std::string_view::npos) return std::nullopt;
    tag += tags.substr(1, end - 1);
    tags.remove_prefix(end + 1);
  }
  tags = trim_blanks(tags);
  if (!tags.empty() && !tags.starts_with(',')) return std::nullopt;
  while (tags.starts_with(',')) tags = trim_blanks(tags.substr(1));
  return tag;
}

}  // namespace

Result<Precondition> parse_precondition(const Request& request) {
  Precondition precondition;
  std::string_view tags = trim_blanks(request.header(Header::if_match));
  while (!tags.empty()) {
    auto tag = take_tag(tags);
    if (!tag)
      return fail(ErrorCode::bad_request,
                  "If-Match must be * or the ETag of a version with its quotation marks");
    precondition.if_match.push_back(std::move(*tag));
  }
  if (request.headers.has(Header::if_none_match)) {
    if (trim_blanks(request.header(Header::if_none_match)) != "*")
      return fail(ErrorCode::bad_request,
                  "If-None-Match can only be * here: the name must be free");
    precondition.if_none_match = true;
  }
  return precondition;
}

bool Precondition::is_met_by(const std::optional<std::string>& now) const {
  if (if_none_match && now) return false;
  return if_match.empty() || (now && std::ranges::any_of(if_match, [&](const std::string& tag) {
                                return tag == "*" || tag == *now;
                              }));
}

bool names_tag(std::string_view tags, std::string_view tag) {
  tags = trim_blanks(tags);
  while (!tags.empty()) {
    auto found = take_tag(tags);
    if (!found) return false;
    std::string_view opaque = *found;
    if (opaque.starts_with("W/")) opaque.remove_prefix(2);
    if (opaque == "*" || opaque == tag) return true;
  }
  return false;
}

}  // namespace orchid::gateway
