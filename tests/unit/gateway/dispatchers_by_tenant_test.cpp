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
  void give_back(HolderId, LeaseId) override {}
  std::map<HolderId, unsigned> wanted;
};

struct TenantsWorld {
  boost::asio::io_context io;
  test::FakeClock clock;
  Supply supply;
  std::map<HolderId, uid_t> known;
  std::map<HolderId, const WorkerNeeds*> needed;
  DispatchersByTenant dispatchers{
      io,
      clock,
      supply,
      {.add =
           [this](HolderId id, uid_t tenant, const WorkerNeeds* needs, Dispatcher&) {
             known[id] = tenant;
             needed[id] = needs;
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
  std::map<const WorkerNeeds*, unsigned> wanted;
  for (const auto& [holder, total] : world.supply.wanted) wanted[world.needed.at(holder)] += total;
  CHECK(wanted == std::map<const WorkerNeeds*, unsigned>{{nullptr, 1}, {wide.get(), 3}});
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

}  // namespace orchid::gateway
