// reports/host_reports.h: reports about hosts and clusters, asked for from any thread.
#pragma once
#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "clusters/clusters.h"
#include "foundation/task.h"
#include "leases/broker_loop.h"
#include "reports/host_report.h"

namespace orchid::gateway {

class HostsDocument;

/// Belongs to the control thread; `report` may be called on any thread. What it borrows outlives
/// it.
class HostReports {
 public:
  using Done = std::function<void(std::string)>;
  /// `owner`: who sees of all executors whose they are; nothing: everybody.
  HostReports(BrokerLoop& loop, const Clusters& clusters, std::optional<uid_t> owner)
      : loop_(loop), clusters_(clusters), owner_(owner) {}

  /// `done` is called on the thread of `reply_to`, with what GET /v1/hosts says.
  void report(HostsAsked asked, Poster reply_to, Done done);

 private:
  void go_on(std::unique_ptr<HostsDocument> document, Poster reply_to, Done done);

  BrokerLoop& loop_;
  const Clusters& clusters_;
  std::optional<uid_t> owner_;
};

}  // namespace orchid::gateway
