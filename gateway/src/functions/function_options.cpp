#include "functions/function_options.h"

#include <optional>
#include <string>
#include <utility>

#include "calls/concurrency_gate.h"
#include "http/query.h"
#include "http/request_options.h"
#include "placement/shape_text.h"

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

Result<std::optional<unsigned>> parse_concurrency(const Request& request) {
  const std::string text = query_parameter(request.query, "concurrency");
  if (text.empty()) return std::optional<unsigned>{};
  auto number = parse_number_field("concurrency", text, {.most = ConcurrencyGate::most});
  if (!number) return fail(std::move(number.error()));
  return std::optional(static_cast<unsigned>(*number));
}

Result<std::optional<std::vector<placement::WorkerShape>>> parse_needs(const Request& request) {
  const std::string text = query_parameter(request.query, "needs");
  if (text.empty()) return std::optional<std::vector<placement::WorkerShape>>{};
  auto shapes = placement::parse_shapes(text);
  if (!shapes) return fail(shapes.error().code, "needs: " + shapes.error().message);
  return std::optional(std::move(*shapes));
}

}  // namespace orchid::gateway
