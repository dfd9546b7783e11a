#include "reports/host_reports.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "leases/demand_report.h"
#include "reports/hosts_document.h"

namespace orchid::gateway {

void HostReports::report(HostsAsked asked, Poster reply_to, Done done) {
  const HostViewer viewer{.uid = asked.viewer,
                          .sees_all = asked.viewer == owner_.value_or(asked.viewer)};
  loop_.post([this, viewer, job = asked.job, reply_to = std::move(reply_to),
              done = std::move(done)](const WorkerBroker& broker, MonotonicTime) mutable {
    go_on(std::make_unique<HostsDocument>(HostsReport::Parts{.hosts = broker.hosts(),
                                                             .leases = broker.leases(),
                                                             .capacity = broker.capacity(),
                                                             .viewer = viewer,
                                                             .job = job},
                                          clusters_.states()),
          std::move(reply_to), std::move(done));
  });
}

/// What else there is to do comes between its parts. Of a large cluster it is megabytes: whoever
/// asks makes the text.
void HostReports::go_on(std::unique_ptr<HostsDocument> document, Poster reply_to, Done done) {
  loop_.post([this, document = std::move(document), reply_to = std::move(reply_to),
              done = std::move(done)](const WorkerBroker& broker, MonotonicTime now) mutable {
    if (document->go_on(now))
      return go_on(std::move(document), std::move(reply_to), std::move(done));
    reply_to([done = std::move(done), report = document->finish(demand_json(broker.demand()))] {
      done(report.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    });
  });
}

}  // namespace orchid::gateway
