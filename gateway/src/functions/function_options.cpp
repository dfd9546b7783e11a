#include "functions/function_options.h"

#include "calls/concurrency_gate.h"
#include "http/query.h"
#include "http/request_options.h"

namespace orchid::gateway {

Result<Precondition> parse_precondition(const Request& request) {
  Precondition precondition;
  std::string_view tags = request.header(Header::if_match);
  while (!tags.empty()) {
    std::string_view tag = take_item(tags, ',');
    if (tag == "*") {
      precondition.if_match.emplace_back(tag);
      continue;
    }
    if (tag.size() < 2 || tag.front() != '"' || tag.back() != '"')
      return fail(ErrorCode::bad_request,
                  "If-Match must be * or the ETag of a version with its quotation marks");
    precondition.if_match.emplace_back(tag.substr(1, tag.size() - 2));
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

}  // namespace orchid::gateway
