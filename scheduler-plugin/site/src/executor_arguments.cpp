#include "site/executor_arguments.h"

#include <fmt/format.h>

#include "executor_process.h"

namespace orchid::site {

std::vector<std::string> executor_arguments(const HostConfiguration& site,
                                            const ExecutorTerms& terms) {
  const GrantOffer& offer = terms.offer;
  std::vector<std::string> words;
  const auto add = [&words](const char* name, std::string value) {
    words.emplace_back(name);
    words.push_back(std::move(value));
  };
  add("--gateway", site.gateway);
  if (!site.token_file.empty()) add("--token-file", fmt::format("/proc/self/fd/{}", token_number));
  add("--runtime", terms.runtime);
  add("--state", terms.state);
  add("--grant", std::string(to_string(offer.source)));
  add("--job", std::to_string(offer.job));
  add("--cluster", site.cluster);
  add("--node", site.node);
  add("--owner-uid", std::to_string(terms.owner));
  add("--users", std::string(to_string(terms.users)));
  add("--core-list", to_core_text(terms.cores));
  if (terms.has_feed) add("--core-feed", std::to_string(feed_number));
  if (offer.memory.value != 0) add("--memory", std::to_string(offer.memory.value));
  if (offer.ends_in) add("--ends-in-s", std::to_string(offer.ends_in->count()));
  add("--gateway-grace-s", std::to_string(offer.gateway_grace.count()));
  add("--scheduling", offer.gives_way ? "idle" : "normal");
  add("--bandwidth-cap", std::to_string(offer.bandwidth_cap.value));
  const std::string cluster = site.cluster.empty() ? "" : site.cluster + "/";
  if (site.host_is_node) add("--host-id", terms.boot_id + "/" + cluster + site.node);
  if (!terms.lane_listen.empty()) add("--lane-listen", terms.lane_listen);
  words.insert(words.end(), site.executor_options.begin(), site.executor_options.end());
  return words;
}

}  // namespace orchid::site
