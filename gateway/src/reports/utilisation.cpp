#include "reports/utilisation.h"

#include <deque>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "hosts/capacity.h"
#include "hosts/host_book.h"
#include "leases/lease_book.h"

namespace orchid::gateway {
namespace {

using Json = nlohmann::json;

constexpr std::size_t hosts_counted_at_once = 250;

void add_host(UtilisationSample& sample, const std::string& boot_id, const WorkerBroker& broker) {
  for (const Executor* executor : broker.hosts().of_host(boot_id))
    sample.memory += executor->host.memory.value;
  const auto placed = broker.capacity().placement().host(placement::HostId(boot_id));
  if (!placed) return;
  sample.cores += placed->host.cores.size();
  sample.cores_usable += placed->granted.size();
  sample.cores_leased += placed->leased.size();
  sample.gpus += placed->host.gpus.size();
  sample.gpus_usable += placed->gpus_granted.size();
  sample.gpus_leased += placed->gpus_leased.size();
  if (placed->watts) sample.watts = sample.watts.value_or(0) + *placed->watts;
}

Json sample_json(const UtilisationSample& sample) {
  Json json{{"at", sample.at},
            {"cores", sample.cores},
            {"cores_usable", sample.cores_usable},
            {"cores_leased", sample.cores_leased},
            {"memory_bytes", sample.memory},
            {"memory_leased_bytes", sample.memory_leased},
            {"gpus", sample.gpus},
            {"gpus_usable", sample.gpus_usable},
            {"gpus_leased", sample.gpus_leased}};
  if (sample.watts) json["watts"] = *sample.watts;
  return json;
}

}  // namespace

/// A sample that is being taken.
struct Utilisation::Counting {
  std::set<std::string> boot_ids;
  std::set<std::string>::const_iterator next;
  UtilisationSample sample;
};

void Utilisation::tick() {
  if (clock_.now() < next_) return;
  next_ = clock_.now() + interval;
  loop_.post([this](const WorkerBroker& broker, MonotonicTime) {
    auto counting = std::make_unique<Counting>();
    counting->boot_ids = broker.hosts().boot_ids();
    counting->next = counting->boot_ids.begin();
    go_on(std::move(counting));
  });
}

/// What else there is to do comes between the parts; see HostsReport.
void Utilisation::go_on(std::unique_ptr<Counting> counting) {
  loop_.post([this, counting = std::move(counting)](const WorkerBroker& broker,
                                                    MonotonicTime) mutable {
    for (std::size_t i = 0; i < hosts_counted_at_once && counting->next != counting->boot_ids.end();
         ++i)
      add_host(counting->sample, *counting->next++, broker);
    if (counting->next != counting->boot_ids.end()) return go_on(std::move(counting));
    for (const auto& [id, lease] : broker.leases().leases())
      counting->sample.memory_leased += lease.memory.value * lease.workers;
    counting->sample.at =
        std::chrono::duration_cast<std::chrono::milliseconds>(clock_.wall_now().time_since_epoch())
            .count();
    book_.add(counting->sample);
  });
}

void Utilisation::report(std::int64_t since, Poster reply_to, Done done) {
  loop_.ask(
      [this, since](const WorkerBroker&, MonotonicTime) { return book_.since(since); },
      std::move(reply_to),
      [done = std::move(done), most = book_.most()](const std::deque<UtilisationSample>& samples) {
        Json list = Json::array();
        for (const UtilisationSample& sample : samples) list.push_back(sample_json(sample));
        done(Json{{"interval_ms", interval.count()}, {"most", most}, {"samples", list}}.dump());
      });
}

}  // namespace orchid::gateway
