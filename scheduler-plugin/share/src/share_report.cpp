#include "share/share_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "foundation/json_document.h"

namespace orchid::share {

Result<std::vector<NodeShare>> shares_of(const GatewayQuestion& get,
                                         std::optional<std::uint64_t> job) {
  const JsonDocument document(get(job ? fmt::format("/v1/hosts?job={}", *job) : "/v1/hosts"),
                              {.subject = "the gateway's answer to /v1/hosts"});
  std::vector<NodeShare> found;
  for (const JsonObject& host : document.root().objects("hosts"))
    for (const JsonObject& executor : host.objects("executors")) {
      const JsonObject grant = executor.optional().object("grant");
      NodeShare share{
          .job = grant.number<std::uint64_t>("job"),
          .node = grant.has("node") ? grant.text("node") : host.optional().text("hostname"),
          .state = executor.text("state"),
          .cores = executor.numbers("cores"),
          .cores_leased = executor.number<std::uint64_t>("cores_leased"),
          .ends_in_ms = std::nullopt};
      if (grant.has("ends_in_ms")) share.ends_in_ms = grant.number<std::int64_t>("ends_in_ms");
      const bool is_asked_for = grant.text("source") == "share" && (!job || share.job == *job);
      // It has given its cores back and gone; the gateway remembers it for a while.
      const bool has_gone = share.state != "connected" && share.cores.empty();
      if (is_asked_for && !has_gone) found.push_back(std::move(share));
    }
  std::ranges::sort(found, {}, [](const NodeShare& one) { return std::tie(one.job, one.node); });
  return document.finish(std::move(found));
}

}  // namespace orchid::share
