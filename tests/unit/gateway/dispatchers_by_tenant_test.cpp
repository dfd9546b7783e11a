#include "dispatcher/dispatchers_by_tenant.h"

#include <doctest/doctest.h>

#include <map>
#include <set>

#include "dispatch_fakes.h"

namespace orchid::gateway {
namespace {

using std::chrono::milliseconds;

/// Remembers what each holder wants.
class Supply final : public WorkerSupply {
 public:
  void want_workers(HolderId holder, unsigned total) override { wanted[holder] = total; }
  void spare_worker(HolderId holder) override { spares.push_back(holder); }
  void give_back(HolderId, LeaseId) override {}
  std::vector<HolderId> spares;
  std::map<HolderId, unsigned> wanted;
};

struct TenantsWorld {
  boost::asio::io_context io;
  test::FakeClock clock;
  Supply supply;
  std::map<HolderId, uid_t> known;
  std::map<HolderId, placement::WorkerRequest> workers;
  DispatchersByTenant dispatchers{
      io,
      clock,
      supply,
      {.add =
           [this](HolderId id, uid_t tenant, const placement::WorkerRequest& worker,
                  Dispatcher& dispatcher) {
             known[id] = tenant;
             workers[id] = worker;
             dispatcher.supply_is({.exists = true});
           },
       .remove = [this](HolderId id) { known.erase(id); }},
      {.owner = 7, .thread = 2, .each = {}, .forget_after = milliseconds(1000)}};
  std::shared_ptr<const FunctionVersion> version = std::make_shared<FunctionVersion>();
  int ended = 0;

  void call(uid_t tenant, const std::string& invocation) {
    dispatchers.start({.invocation = invocation,
                       .tenant = tenant,
                       .version = version,
                       .accepted = clock.now(),
                       .deadline = clock.now() + std::chrono::seconds(60)},
                      [this](const CallResult&) { ++ended; });
  }
  [[nodiscard]] std::set<uid_t> tenants() const {
    std::set<uid_t> all;
    for (const auto& [id, tenant] : known) all.insert(tenant);
    return all;
  }
};

}  // namespace

TEST_CASE("each tenant's calls want workers of their own") {
  TenantsWorld world;
  world.dispatchers.add_owner();
  world.call(1000, "i-1");
  world.call(1000, "i-2");
  world.call(1001, "i-3");
  CHECK(world.tenants() == std::set<uid_t>{7, 1000, 1001});
  std::map<uid_t, unsigned> wanted;
  for (const auto& [holder, total] : world.supply.wanted) wanted[world.known.at(holder)] = total;
  CHECK(wanted == std::map<uid_t, unsigned>{{1000, 2}, {1001, 1}});
  CHECK(world.dispatchers.live_calls() == 3);
  world.dispatchers.stop();
  CHECK(world.ended == 3);
}

TEST_CASE("calls that other hosts can run, or are wanted on others, want workers of their own") {
  TenantsWorld world;
  const auto deploy = [&](ModuleHosts hosts) {
    auto version = std::make_shared<FunctionVersion>();
    version->hosts = std::move(hosts);
    return version;
  };
  const auto call = [&](const auto& version, std::optional<placement::HostKind> kind) {
    world.dispatchers.start({.invocation = "i-" + std::to_string(world.dispatchers.live_calls()),
                             .tenant = 7,
                             .version = version,
                             .accepted = world.clock.now(),
                             .deadline = world.clock.now() + std::chrono::seconds(60),
                             .kind = kind},
                            [](const CallResult&) {});
  };
  const auto x86 = deploy({.images = {"x86_64"}});
  call(x86, std::nullopt);
  call(deploy({.images = {"x86_64"}}), std::nullopt);
  CHECK(world.workers.size() == 1);
  call(deploy({.images = {"aarch64", "x86_64"}}), std::nullopt);
  call(deploy({.images = {"x86_64"}, .needs_gpu = true}), std::nullopt);
  call(x86, placement::HostKind::dpu);
  REQUIRE(world.workers.size() == 4);
  std::vector<placement::WorkerRequest> workers;
  for (const auto& [id, worker] : world.workers) workers.push_back(worker);
  CHECK(workers[0].images == std::vector<std::string>{"x86_64"});
  CHECK(workers[0].alternatives.front().gpus == 0);
  CHECK_FALSE(workers[0].kind.has_value());
  CHECK(workers[1].images == std::vector<std::string>{"aarch64", "x86_64"});
  CHECK(workers[2].alternatives.front().gpus == 1);
  CHECK(workers[3].kind == placement::HostKind::dpu);
  world.dispatchers.stop();
}

TEST_CASE("of a function's needs a module with kernels for GPUs only has those with a GPU") {
  TenantsWorld world;
  NeedsBook book;
  const auto call_with = [&](std::vector<placement::WorkerShape> needs) {
    auto version = std::make_shared<FunctionVersion>();
    version->hosts.needs_gpu = true;
    version->needs = std::make_shared<FunctionNeeds>();
    version->needs->set(book.of(std::move(needs)));
    world.version = version;
    world.call(7, "i-" + std::to_string(world.dispatchers.live_calls()));
    return world.workers.rbegin()->second.alternatives;
  };
  using Shapes = std::vector<placement::WorkerShape>;
  CHECK(call_with({{.cores = 2, .gpus = 2}, {.cores = 4}}) == Shapes{{.cores = 2, .gpus = 2}});
  CHECK(call_with({{.cores = 4}}) == Shapes{{.gpus = 1}});
  world.dispatchers.stop();
}

TEST_CASE("a call is cancelled whoever's it is") {
  TenantsWorld world;
  world.call(1000, "i-1");
  world.call(1001, "i-2");
  world.dispatchers.cancel("i-2");
  CHECK(world.ended == 1);
  CHECK(world.dispatchers.live_calls() == 1);
  world.dispatchers.stop();
}

TEST_CASE("a tenant without calls is forgotten after a while, the owner never") {
  TenantsWorld world;
  world.dispatchers.add_owner();
  world.call(1000, "i-1");
  world.clock.advance(milliseconds(5000));
  world.dispatchers.sweep();
  CHECK(world.tenants() == std::set<uid_t>{7, 1000});  // its call waits
  world.dispatchers.cancel("i-1");
  world.dispatchers.sweep();
  CHECK(world.tenants() == std::set<uid_t>{7, 1000});
  const HolderId before = world.known.rbegin()->first;
  world.clock.advance(milliseconds(1001));
  world.dispatchers.sweep();
  CHECK(world.tenants() == std::set<uid_t>{7});
  world.call(1000, "i-2");
  CHECK(world.tenants() == std::set<uid_t>{7, 1000});
  CHECK(world.known.rbegin()->first != before);  // what was said to the old one is not for it
  world.dispatchers.stop();
}

TEST_CASE("calls of functions with other needs want other workers, and wait for nobody else's") {
  TenantsWorld world;
  world.dispatchers.add_owner();
  NeedsBook book;
  const auto wide = book.of({{.cores = 1, .gpus = 1}, {.cores = 4}});
  CHECK(book.of({{.cores = 1, .gpus = 1}, {.cores = 4}}) == wide);
  CHECK(book.of({{.cores = 4}, {.cores = 1, .gpus = 1}}) != wide);  // another order of preference
  CHECK(book.of({{.cores = 1}}) == nullptr);
  const auto make_version = [](std::shared_ptr<const WorkerNeeds> needs) {
    auto version = std::make_shared<FunctionVersion>();
    version->needs = std::make_shared<FunctionNeeds>();
    version->needs->set(std::move(needs));
    return version;
  };
  const auto plain = make_version(nullptr);
  const auto first = make_version(wide);
  const auto second = make_version(wide);
  int calls = 0;
  for (const auto& version : {plain, first, second, first}) {
    world.version = version;
    world.call(7, "i-" + std::to_string(++calls));
  }
  std::map<std::size_t, unsigned> wanted;  // by the number of alternatives
  for (const auto& [holder, total] : world.supply.wanted)
    wanted[world.workers.at(holder).alternatives.size()] += total;
  CHECK(wanted == std::map<std::size_t, unsigned>{{1, 1}, {2, 3}});
  CHECK(world.dispatchers.dispatchers() == 2);

  first->needs->set(nullptr);  // those that wait keep what they wait for
  world.version = first;
  world.call(7, "i-5");
  CHECK(world.dispatchers.dispatchers() == 2);
  for (const char* invocation : {"i-2", "i-3", "i-4"}) world.dispatchers.cancel(invocation);
  world.clock.advance(milliseconds(1001));
  world.dispatchers.sweep();
  world.clock.advance(milliseconds(1001));
  world.dispatchers.sweep();
  CHECK(world.dispatchers.dispatchers() == 1);
  CHECK(world.dispatchers.live_calls() == 2);
  world.dispatchers.stop();
}

TEST_CASE("a worker is taken ahead where calls of that place would have theirs") {
  TenantsWorld world;
  world.dispatchers.warm(7, world.version, {.kind = placement::HostKind::gpu, .cluster = "north"});
  REQUIRE(world.supply.spares.size() == 1);
  const placement::WorkerRequest& worker = world.workers.at(world.supply.spares[0]);
  CHECK(worker.cluster == "north");
  CHECK(worker.kind == placement::HostKind::gpu);
  world.dispatchers.warm(7, world.version, {.data_at = placement::GrantId("e1")});
  REQUIRE(world.supply.spares.size() == 2);
  CHECK(world.workers.at(world.supply.spares[1]).data_at.value() == "e1");
}

}  // namespace orchid::gateway
