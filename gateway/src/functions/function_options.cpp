#include "functions/function_options.h"

#include <optional>
#include <string>
#include <utility>

#include "calls/concurrency_gate.h"
#include "http/query.h"
#include "http/request_options.h"
#include "placement/shape_text.h"

namespace orchid::gateway {

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
