#include <memory>
#include <utility>

#include "ucx/ends.h"
#include "ucx/hello.h"

namespace orchid::transport {
namespace {

Result<void> check_geometry(const Welcome& welcome, const LaneGeometry& largest) {
  if (welcome.request_bytes < 4096 || welcome.response_bytes < 4096)
    return fail(ErrorCode::bad_request, "a welcome out of range");
  if (welcome.request_bytes > largest.request_bytes.value ||
      welcome.response_bytes > largest.response_bytes.value)
    return fail(ErrorCode::too_large, "the worker's lane is larger than this client allows");
  return {};
}

}  // namespace

Result<UcxLaneClient> UcxLaneClient::connect(UcxContext& context, const Options& options) {
  LaneGeometry geometry;
  auto link = connect_link(
      context, {.address = options.address, .key = options.key, .deadline = options.deadline},
      [&](const Welcome& welcome) {
        geometry = {ByteCount{welcome.request_bytes}, ByteCount{welcome.response_bytes}};
        return check_geometry(welcome, options.largest);
      });
  if (!link) return fail(std::move(link.error()));
  auto requests = Slab::map(geometry.request_bytes.value);
  if (!requests) return fail(std::move(requests.error()));
  auto responses = Slab::map(geometry.response_bytes.value);
  if (!responses) return fail(std::move(responses.error()));
  return UcxLaneClient(
      std::make_unique<State>(std::move(*requests), std::move(*responses), std::move(*link)));
}

}  // namespace orchid::transport
