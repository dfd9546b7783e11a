// reports/hosts_document.h: what GET /v1/hosts says, part by part.
#pragma once
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "clusters/cluster_report.h"
#include "reports/host_report.h"

namespace orchid::gateway {

/// Owned by the control thread. All of 10 000 hosts and nodes at once would hold that up for 0.13
/// s, and whoever keeps pilots asks every 2 s.
class HostsDocument {
 public:
  HostsDocument(const HostsReport::Parts& hosts, std::vector<const ClusterState*> clusters)
      : of_one_job_(hosts.job.has_value()), hosts_(hosts), clusters_(std::move(clusters)) {}

  /// One more part. False: there is no more.
  bool go_on(MonotonicTime now) {
    return hosts_.go_on(now) || (!of_one_job_ && clusters_.go_on(now));
  }
  /// `demand` is left out where one job is asked for.
  [[nodiscard]] nlohmann::json finish(nlohmann::json demand) {
    nlohmann::json document{{"hosts", hosts_.take()}};
    if (of_one_job_) return document;
    document["clusters"] = clusters_.take();
    document["demand"] = std::move(demand);
    return document;
  }

 private:
  bool of_one_job_;
  HostsReport hosts_;
  ClustersReport clusters_;
};

}  // namespace orchid::gateway
