// invocations/async_clusters.cpp: asynchronous calls that name a cluster which nobody knows.
#include <chrono>
#include <set>
#include <string>
#include <utility>

#include "invocations/async_invocations.h"

namespace orchid::gateway {
namespace {

constexpr std::chrono::seconds look_interval{1};
/// Executors whose gateway or machine is started anew come back within that, and with them the only
/// ones who say that their cluster exists.
constexpr std::chrono::seconds unknown_patience{20};

}  // namespace

void AsyncInvocations::look_at_clusters(MonotonicTime now) {
  if (parts_.check_cluster == nullptr || now < next_look_at_clusters_) return;
  next_look_at_clusters_ = now + look_interval;
  const std::set<std::string> wanted = book_.waiting_clusters();
  std::erase_if(unknown_since_, [&](const auto& one) { return !wanted.contains(one.first); });
  for (const std::string& cluster : wanted) {
    const auto known = parts_.check_cluster(cluster);
    if (known) {
      unknown_since_.erase(cluster);
      continue;
    }
    const auto since = unknown_since_.try_emplace(cluster, now).first->second;
    if (now - since < unknown_patience) continue;
    for (BookedInvocation* const call : book_.waiting_for(cluster)) {
      CallResult refused;
      refused.outcome = Outcome::bad_request;
      refused.message = known.error().message;
      finish(*call, std::move(refused));
    }
  }
}

}  // namespace orchid::gateway
