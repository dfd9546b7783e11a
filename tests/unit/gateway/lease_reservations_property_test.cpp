// Random histories of holders with different needs, whose calls take their time, who lose what they
// are asked, and of clients that keep what they have for a while. Whatever happens: no core, GPU or
// byte is booked twice, no host stays closed without a reason, and who has nothing gets something.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "call_world.h"
#include "foundation/log.h"

namespace orchid::gateway {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// How long things take.
struct Pace {
  milliseconds shortest_call;
  milliseconds longest_call;
  milliseconds step;
  int steps = 0;
  unsigned crowd = 0;            // holders of one core, for each core
  milliseconds longest_without;  // nobody has nothing for so long
};
constexpr Pace brisk{.shortest_call = milliseconds(50),
                     .longest_call = seconds(6),
                     .step = milliseconds(100),
                     .steps = 2'500,
                     .longest_without = seconds(180)};
/// Calls outlast the first reservation, and as many wait for a core as have one.
constexpr Pace slow{.shortest_call = seconds(40),
                    .longest_call = seconds(120),
                    .step = seconds(1),
                    .steps = 7'200,
                    .crowd = 2,
                    .longest_without = std::chrono::minutes(30)};

class NeedsHistory {
 public:
  NeedsHistory(unsigned seed, const Pace& pace) : random_(seed), pace_(pace) {
    unsigned all_cores = 0;
    const unsigned hosts = 1 + below(3);
    for (unsigned i = 0; i < hosts; ++i) {
      const std::string host = i == 0 ? "here" : "h" + std::to_string(i);
      const unsigned cores = 2 + below(7);
      world_.join_host(host, cores, below(3), ByteCount{std::uint64_t{4 + below(8)} << 30U});
      all_cores += cores;
      hosts_.push_back(host);
    }
    const unsigned holders = 2 + below(5);
    for (unsigned i = 1; i <= holders; ++i) add_holder(HolderId(i));
    for (unsigned i = 0; i < pace_.crowd * all_cores; ++i) {
      const HolderId id(crowd_from + i);
      add(id, {{.cores = 1, .memory = 64_MiB}});
      want(id, 1);
    }
  }
  void run() {
    for (int step = 0; step < pace_.steps; ++step) this->step();
  }

 private:
  void step() {
    const HolderId id(1 + below(changing_));
    const unsigned what = below(100);
    if (what < 6)
      want(id, below(6));
    else if (what < 8)
      world_.asked_back[id] = 0;  // it has not heard of it, or forgotten it
    else if (what < 10)
      come_and_go();
    for (auto at = clients_.begin(); at != clients_.end();) {
      if (at->second > world_.now) {
        ++at;
        continue;
      }
      world_.broker.remove_holder(at->first, world_.now);
      world_.perform();
      at = clients_.erase(at);
    }
    world_.step(pace_.step);
    check();
  }
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_() % limit); }

  placement::WorkerShape shape() {
    placement::WorkerShape one{.cores = 1, .memory = 64_MiB};
    const unsigned kind = below(10);
    if (kind < 5) one.cores = 1 + below(6);
    if (kind == 5) one.memory = ByteCount{std::uint64_t{1 + below(6)} << 30U};
    if (kind == 6) one.gpus = 1 + below(2);
    return one;
  }
  void add_holder(HolderId id) {
    Shapes shapes{shape()};
    if (below(3) == 0) shapes.push_back(shape());
    add(id, std::move(shapes));
    want(id, below(6));
    ++changing_;
  }
  void add(HolderId id, Shapes shapes) {
    shapes_[id] = shapes;
    const auto spread = pace_.longest_call - pace_.shortest_call;
    world_.add(id, std::move(shapes),
               pace_.shortest_call + milliseconds(below(static_cast<unsigned>(spread.count()))),
               {.uid = 1 + below(2)});
  }
  void want(HolderId id, unsigned workers) {
    wanted_[id] = workers;
    world_.want(id, workers);
  }
  void come_and_go() {
    if (!clients_.empty() || world_.now < next_client_at_) return;
    const HolderId id(next_client_++);
    world_.add_client(id, {.cores = 1 + below(2), .memory = 64_MiB}, 1 + below(2));
    clients_[id] = world_.now + seconds(1 + below(20));
    next_client_at_ = world_.now + seconds(60);
  }

  /// Could a host give it a worker, were nobody else there?
  [[nodiscard]] bool is_possible(HolderId id) const {
    return world_.broker.has_supply({.alternatives = shapes_.at(id)});
  }
  void check_bookings() {
    std::map<std::string, std::set<std::uint32_t>> cores;
    std::map<std::string, std::set<std::uint32_t>> gpus;
    for (const auto& [id, lease] : world_.broker.leases().leases()) {
      const Executor& executor = *world_.broker.hosts().find(lease.executor);
      for (const std::uint32_t core : lease.core_ids)
        REQUIRE(cores[executor.host.boot_id].insert(core).second);
      for (const std::uint32_t gpu : lease.gpus)
        REQUIRE(gpus[executor.host.boot_id].insert(gpu).second);
      REQUIRE(lease.core_ids.size() == lease.cores());
    }
    const auto wrong = world_.broker.capacity().placement().audit();
    REQUIRE_MESSAGE(!wrong, *wrong);
  }
  void check_reservations() {
    for (const auto& [boot_id, reservation] : world_.broker.reservations().all()) {
      const HolderId id = reservation.holder;
      const bool is_client = clients_.contains(id);
      REQUIRE((is_client || wanted_.at(id) > world_.given[id].size()));
      REQUIRE(reservation.until > world_.now);
      // Were all gone but clients, it would have room: else that is noticed within a second.
      std::vector<placement::DecisionId> others;
      for (const auto& [lease_id, lease] : world_.broker.leases().leases())
        if (!lease.client && lease.holder != id) others.push_back(*lease.placed);
      const placement::Request request{.tenant = placement::TenantId(1),
                                       .worker = {.alternatives = {reservation.shape},
                                                  .client_host = placement::HostId("here"),
                                                  .client_host_only = boot_id == "here"}};
      const bool possible = world_.broker.capacity().placement().would_fit(
          placement::GrantId(reservation.executor.value()), request, others, world_.now);
      MonotonicTime& since = possible_[boot_id];
      if (possible) since = world_.now;
      REQUIRE(world_.now - since <= seconds(1) + pace_.step);
    }
    for (const std::string& host : hosts_)
      if (!world_.broker.reservations().all().contains(host)) possible_[host] = world_.now;
  }
  void check_waits() {
    for (const auto& [id, shapes] : shapes_) {
      const bool waits = wanted_.at(id) > 0 && world_.given[id].empty() && is_possible(id);
      if (!waits) waits_since_[id] = world_.now;
      CAPTURE(id.value());
      REQUIRE(world_.now - waits_since_[id] <= pace_.longest_without);
    }
  }
  void check() {
    check_bookings();
    check_reservations();
    check_waits();
  }

  static constexpr std::uint64_t crowd_from = 100;
  std::mt19937 random_;
  Pace pace_;
  unsigned changing_ = 0;  // holders that want now more and now less: the first ones
  CallWorld world_;
  std::vector<std::string> hosts_;
  std::map<HolderId, Shapes> shapes_;
  std::map<HolderId, unsigned> wanted_;
  std::map<HolderId, MonotonicTime> clients_;  // until when they stay
  std::map<std::string, MonotonicTime> possible_;
  std::map<HolderId, MonotonicTime> waits_since_;
  std::uint64_t next_client_ = 1'000;
  MonotonicTime next_client_at_{};
};

}  // namespace

TEST_CASE("holders with different needs are all served, and nothing is booked twice") {
  log::configure("unit_gateway", LogLevel::error);
  for (unsigned seed = 0; seed < 120; ++seed) {
    CAPTURE(seed);
    NeedsHistory(seed, brisk).run();
  }
}

TEST_CASE("so they are when calls take long and more wait for single cores than there are") {
  log::configure("unit_gateway", LogLevel::error);
  for (unsigned seed = 0; seed < 6; ++seed) {
    CAPTURE(seed);
    NeedsHistory(seed, slow).run();
  }
}

}  // namespace orchid::gateway
