#include "functions/function_options.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "calls/concurrency_gate.h"
#include "http/query.h"
#include "http/request_options.h"
#include "placement/call_device.h"
#include "placement/host.h"
#include "placement/shape_text.h"

namespace orchid::gateway {
namespace {

bool is_cluster_name(std::string_view text) {
  constexpr std::size_t longest = 256;
  return !text.empty() && text.size() <= longest &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

}  // namespace

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

Result<CallPlace> parse_call_place(const Request& request) {
  CallPlace place;
  if (request.headers.has(Header::orchid_host_kind)) {
    place.kind = placement::parse_host_kind(request.header(Header::orchid_host_kind));
    if (!place.kind)
      return fail(ErrorCode::bad_request, "Orchid-Host-Kind must be cpu, gpu or dpu");
  }
  if (request.headers.has(Header::orchid_device)) {
    place.device = placement::parse_call_device(request.header(Header::orchid_device));
    if (!place.device) return fail(ErrorCode::bad_request, "Orchid-Device must be cores or gpu");
  }
  if (request.headers.has(Header::orchid_cluster)) {
    place.cluster = std::string(request.header(Header::orchid_cluster));
    if (!is_cluster_name(place.cluster))
      return fail(ErrorCode::bad_request,
                  "Orchid-Cluster must be the name of a cluster: at most 256 characters, and no "
                  "blank among them");
  }
  return place;
}

}  // namespace orchid::gateway
