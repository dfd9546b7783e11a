// Leases of memory as the gateway has them, with executors that say what the test says.
#include "leases/memory_leases.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <random>
#include <utility>
#include <variant>
#include <vector>

#include "foundation/log.h"
#include "leases/lease_documents.h"

namespace orchid::gateway {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr uid_t anna = 1000;
constexpr uid_t bert = 1001;
const ExecutorId first("e1");
const ExecutorId second("e2");

struct MemoryWorld {
  explicit MemoryWorld(MemoryLeases::Options options = {})
      : leases(
            {.broker = broker,
             .send = [this](const ExecutorId& to,
                            ControlMessage message) { sent.emplace_back(to, std::move(message)); },
             .data_of = [this](uid_t) { return data; }},
            options) {
    log::configure("unit_gateway_memory", LogLevel::error);
  }
  void join(const ExecutorId& id, const std::string& name, ByteCount memory,
            const std::vector<MemoryHeld>& held = {}) {
    Executor executor{.id = id,
                      .owner = {},
                      .host = {.boot_id = "boot-" + name, .hostname = name, .memory = 64_GiB},
                      .lane_socket = "/run/" + id.value(),
                      .lane_address = "10.0.0." + name.substr(1) + ":7",
                      .data_memory = memory,
                      .leases_memory = true};
    executor.host.cores = {0};
    join(executor, held);
  }
  void join(const Executor& executor, const std::vector<MemoryHeld>& held = {}) {
    leases.executor_joined(executor, held, now);
    broker.executor_joined(executor, {}, now);
  }
  void open(ByteCount bytes, uid_t tenant = anna, placement::WorkerRequest on = {}) {
    opened.reset();
    MemoryLeaseRequest request{.tenant = {.uid = tenant, .name = "one"}, .bytes = bytes};
    request.on = std::move(on);
    leases.open(std::move(request), now,
                [this](const Result<MemoryLeaseView>& lease) { opened = lease; });
  }
  /// Who was asked last, and for what.
  [[nodiscard]] std::pair<ExecutorId, LeaseMemory> asked() const {
    for (auto at = sent.rbegin(); at != sent.rend(); ++at)
      if (const auto* message = std::get_if<LeaseMemory>(&at->second)) return {at->first, *message};
    FAIL("nobody was asked");
    return {first, {}};
  }
  LeaseId take(ByteCount bytes, uid_t tenant = anna) {
    open(bytes, tenant);
    const auto [executor, order] = asked();
    leases.hear(executor, MemoryLeased{order.lease, "127.0.0.1:99", order.key}, now);
    REQUIRE(opened.has_value());
    REQUIRE_MESSAGE(opened->has_value(), opened->error().message);
    return (*opened)->id;
  }
  template <typename Message>
  [[nodiscard]] std::size_t count(LeaseId lease) const {
    return static_cast<std::size_t>(std::ranges::count_if(sent, [&](const auto& one) {
      const auto* message = std::get_if<Message>(&one.second);
      return message != nullptr && message->lease == lease;
    }));
  }

  WorkerBroker broker{{.epoch = 3, .boot_id = "here"}, {}};
  MonotonicTime now{std::chrono::hours(1)};
  ByteCount data{};  // that each tenant has in objects
  std::vector<std::pair<ExecutorId, ControlMessage>> sent;
  MemoryLeases leases;
  std::optional<Result<MemoryLeaseView>> opened;
};

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

}  // namespace

TEST_CASE("memory is taken where there is room, and its address has the executor's host") {
  MemoryWorld world;
  world.join(first, "n1", 1_GiB);
  world.join(second, "n2", 8_GiB);
  const LeaseId lease = world.take(4_GiB);
  const auto [executor, order] = world.asked();
  CHECK(executor == second);
  CHECK(order.bytes == 4_GiB);
  CHECK(order.key.size() == 32);
  const auto view = world.leases.find(anna, lease, world.now).value();
  CHECK(view.open);
  CHECK(view.node == "n2");
  CHECK(view.address == "10.0.0.2:99");
  CHECK(view.key == order.key);
  CHECK_FALSE(world.leases.find(bert, lease, world.now).has_value());
  CHECK(world.leases.list(bert, world.now).empty());
  CHECK(world.leases.leased_to(anna) == 4_GiB);
}

TEST_CASE("who refuses is not asked again, and the last refusal is what the client hears") {
  MemoryWorld world;
  world.join(first, "n1", 1_GiB);
  world.join(second, "n2", 1_GiB);
  world.open(512_MiB);
  const ExecutorId before = world.asked().first;
  const LeaseId lease = world.asked().second.lease;
  world.leases.hear(before, MemoryRefused{lease, ErrorCode::no_data_memory, "full"}, world.now);
  const ExecutorId after = world.asked().first;
  CHECK(after != before);
  CHECK_FALSE(world.opened.has_value());
  world.leases.hear(after, MemoryRefused{lease, ErrorCode::no_data_memory, "full: see X"},
                    world.now);
  REQUIRE(world.opened.has_value());
  REQUIRE_FALSE(world.opened->has_value());
  CHECK(world.opened->error().code == ErrorCode::no_data_memory);
  CHECK(world.opened->error().message.find("full: see X") != std::string::npos);
  CHECK(world.leases.leased_to(anna) == 0_MiB);
}

TEST_CASE("constraints, reach and time decide who may be asked") {
  MemoryWorld world;
  world.join(first, "n1", 1_GiB);
  placement::WorkerRequest elsewhere;
  elsewhere.host = "n9";
  world.open(1_MiB, anna, elsewhere);
  REQUIRE_FALSE(world.opened.value().has_value());
  CHECK(world.opened->error().code == ErrorCode::no_data_memory);
  CHECK(world.opened->error().message.find("constraints") != std::string::npos);
  Executor hidden{.id = second,
                  .owner = {},
                  .host = {.boot_id = "boot-n2", .hostname = "n2", .memory = 64_GiB},
                  .lane_socket = "/run/e2",
                  .data_memory = 1_GiB,
                  .leases_memory = true};
  hidden.host.cores = {0};
  world.join(hidden);
  placement::WorkerRequest on_hidden;
  on_hidden.host = "n2";
  world.open(1_MiB, anna, on_hidden);
  CHECK_FALSE(world.opened.value().has_value());  // it takes clients of its own host alone
  on_hidden.client_host = placement::HostId("boot-n2");
  world.open(1_MiB, anna, on_hidden);
  CHECK(world.asked().first == second);
  MemoryWorld empty;
  empty.open(1_MiB);
  CHECK(empty.opened.value().error().message.find("--data-memory") != std::string::npos);
}

TEST_CASE("data and leased memory count towards one limit") {
  MemoryWorld world({.per_tenant = 10_GiB, .most_per_tenant = 3});
  world.join(first, "n1", 64_GiB);
  world.data = 4_GiB;
  (void)world.take(4_GiB);
  world.open(3_GiB);
  REQUIRE(world.opened.has_value());
  CHECK(world.opened->error().code == ErrorCode::quota);
  CHECK(world.opened->error().message.find("8 GiB") != std::string::npos);
  (void)world.take(3_GiB, bert);
  (void)world.take(1_MiB);
  (void)world.take(1_MiB);
  world.open(1_MiB);
  CHECK(world.opened.value().error().code == ErrorCode::quota);
  world.open(0_MiB, bert);
  CHECK(world.opened.value().error().code == ErrorCode::bad_request);
}

TEST_CASE("a lease is renewed and closed by its owner, and what is late is ended") {
  MemoryWorld world;
  world.join(first, "n1", 1_GiB);
  const LeaseId lease = world.take(1_MiB);
  CHECK_FALSE(world.leases.renew(bert, lease, minutes(5), world.now).has_value());
  CHECK_FALSE(world.leases.renew(anna, lease, std::chrono::milliseconds(5), world.now).has_value());
  CHECK(world.leases.renew(anna, lease, minutes(5), world.now).value().expires_in == minutes(5));
  CHECK(world.count<RenewMemory>(lease) == 1);
  CHECK_FALSE(world.leases.close(bert, lease, world.now).has_value());
  CHECK(world.leases.close(anna, lease, world.now).has_value());
  CHECK(world.count<EndMemory>(lease) == 1);
  CHECK_FALSE(world.leases.find(anna, lease, world.now).has_value());
  // Its process listens again, since a client had just left.
  world.leases.hear(first, MemoryLeased{lease, "127.0.0.1:100", {}}, world.now);
  CHECK(world.count<EndMemory>(lease) == 2);
}

TEST_CASE("the next client gets the port and the key of the next process") {
  MemoryWorld world;
  world.join(first, "n1", 1_GiB);
  const LeaseId lease = world.take(1_MiB);
  CHECK(world.leases.find(anna, lease, world.now)->key == world.asked().second.key);
  const std::string key(32, 'b');
  world.leases.hear(first, MemoryLeased{lease, "127.0.0.1:100", key}, world.now);
  const auto view = world.leases.find(anna, lease, world.now).value();
  CHECK(view.address == "10.0.0.1:100");
  CHECK(view.key == key);
}

TEST_CASE("an executor whose stream begins afresh is asked for the key of a port that is new") {
  MemoryWorld world;
  world.join(first, "n1", 1_GiB);
  const LeaseId lease = world.take(1_MiB);
  MemoryHeld held{.lease = lease,
                  .tenant = {.uid = anna, .name = "one"},
                  .bytes = 1_MiB,
                  .expires_in = seconds(30),
                  .address = "127.0.0.1:99"};
  world.join(first, "n1", 1_GiB, {held});
  held.address = "";  // its next process does not listen yet, and will be told of
  world.join(first, "n1", 1_GiB, {held});
  CHECK(world.count<LeaseMemory>(lease) == 1);
  held.address = "127.0.0.1:100";
  world.join(first, "n1", 1_GiB, {held});
  CHECK(world.count<LeaseMemory>(lease) == 2);
  // Until it has answered, the old key goes with the old port.
  CHECK(world.leases.find(anna, lease, world.now)->address == "10.0.0.1:99");
  const std::string key(32, 'b');
  world.leases.hear(first, MemoryLeased{lease, "127.0.0.1:100", key}, world.now);
  CHECK(world.leases.find(anna, lease, world.now)->address == "10.0.0.1:100");
  CHECK(world.leases.find(anna, lease, world.now)->key == key);
}

TEST_CASE("a lease that its executor ends, loses, or does not renew is no more") {
  MemoryWorld world;
  world.join(first, "n1", 1_GiB);
  const LeaseId ended = world.take(1_MiB);
  world.leases.hear(second, MemoryEnded{ended, LeaseEnd::revoked}, world.now);
  CHECK(world.leases.knows(ended));  // that one does not have it
  world.leases.hear(first, MemoryEnded{ended, LeaseEnd::revoked}, world.now);
  CHECK_FALSE(world.leases.knows(ended));
  const LeaseId late = world.take(1_MiB);
  world.now += minutes(2);
  world.leases.tick(world.now);
  CHECK_FALSE(world.leases.knows(late));
  CHECK(world.count<EndMemory>(late) == 1);
}

TEST_CASE("an executor that does not answer is told to end it, and another one is asked") {
  MemoryWorld world;
  world.join(first, "n1", 1_GiB);
  world.join(second, "n2", 1_GiB);
  world.open(1_MiB);
  const auto [silent, order] = world.asked();
  world.now += seconds(11);
  world.leases.tick(world.now);
  CHECK(world.count<EndMemory>(order.lease) == 1);
  const ExecutorId other = world.asked().first;
  CHECK(other != silent);
  world.leases.hear(silent, MemoryLeased{order.lease, "127.0.0.1:1", order.key}, world.now);
  CHECK_FALSE(world.opened.has_value());
  world.leases.hear(other, MemoryLeased{order.lease, "127.0.0.1:2", order.key}, world.now);
  REQUIRE(world.opened.has_value());
  CHECK(world.opened->has_value());
  // Both come back: the one that was too slow has it too, and it is alive at the other one.
  const auto held = [&](std::string address) {
    return std::vector<MemoryHeld>{{.lease = order.lease,
                                    .tenant = order.tenant,
                                    .bytes = order.bytes,
                                    .expires_in = seconds(30),
                                    .address = std::move(address)}};
  };
  const std::size_t ends = world.count<EndMemory>(order.lease);
  world.join(other, other == first ? "n1" : "n2", 1_GiB, held("127.0.0.1:2"));
  CHECK(world.count<EndMemory>(order.lease) == ends);
  CHECK(world.leases.knows(order.lease));
  world.join(silent, silent == first ? "n1" : "n2", 1_GiB, held("127.0.0.1:1"));
  CHECK(world.count<EndMemory>(order.lease) == ends + 1);
  CHECK(world.leases.knows(order.lease));
}

TEST_CASE("leases come back with their executor, but for those that were ended meanwhile") {
  MemoryWorld world;
  const MemoryHeld held{.lease = {2, 7},
                        .tenant = {.uid = anna, .name = "one"},
                        .bytes = 3_MiB,
                        .expires_in = seconds(30),
                        .address = "10.0.0.1:5"};
  world.join(first, "n1", 1_GiB, {held});
  const auto view = world.leases.find(anna, held.lease, world.now).value();
  CHECK(view.open);
  CHECK(view.key.empty());
  CHECK(view.bytes == 3_MiB);
  CHECK(view.expires_in == seconds(30));
  CHECK(world.leases.close(anna, held.lease, world.now).has_value());
  world.join(first, "n1", 1_GiB, {held});
  CHECK_FALSE(world.leases.knows(held.lease));
  CHECK(world.count<EndMemory>(held.lease) == 2);
  const LeaseId lost = world.take(1_MiB);
  world.join(first, "n1", 1_GiB);  // it does not have that one
  CHECK_FALSE(world.leases.knows(lost));
}

TEST_CASE("an executor says nothing of the leases of tenants that it does not serve") {
  MemoryWorld world({.owner = bert});
  Executor annas{.id = first,
                 .owner = {.tenant = {.uid = anna, .name = "anna"}},
                 .host = {.boot_id = "b", .hostname = "n1"},
                 .data_memory = 1_GiB,
                 .leases_memory = true};
  const MemoryHeld others{.lease = {2, 1}, .tenant = {.uid = 1002, .name = "c"}, .bytes = 1_MiB};
  const MemoryHeld own{.lease = {2, 2}, .tenant = {.uid = anna, .name = "anna"}, .bytes = 1_MiB};
  world.leases.executor_joined(annas, {others, own}, world.now);
  CHECK_FALSE(world.leases.knows(others.lease));
  CHECK(world.leases.knows(own.lease));
}

TEST_CASE("metrics tell of leases that are open, and of no others") {
  MemoryWorld world;
  world.join(first, "n1", 1_GiB);
  world.take(300_MiB);
  world.take(100_MiB, bert);
  world.open(50_MiB);
  MetricsText text;
  world.leases.add_metrics(text);
  const std::string told = text.take();
  CHECK(told.contains("orchid_memory_leases 2\n"));
  CHECK(told.contains("orchid_memory_leased_bytes 419430400\n"));
}

TEST_CASE("what leases have adds up, whatever happens") {
  MemoryWorld world({.per_tenant = 100_MiB});
  world.join(first, "n1", 64_MiB);
  world.join(second, "n2", 64_MiB);
  std::mt19937 random(11);
  std::map<LeaseId, std::pair<uid_t, std::uint64_t>> model;
  for (int step = 0; step < 3000; ++step) {
    world.now += std::chrono::milliseconds(random() % 20);
    const uid_t tenant = random() % 2 == 0 ? anna : bert;
    if (random() % 3 == 0 || model.empty()) {
      const ByteCount bytes{1 + random() % 20'000'000};
      const std::size_t before = world.sent.size();
      world.open(bytes, tenant);
      if (world.sent.size() == before) {
        CHECK(world.opened.value().error().code == ErrorCode::quota);
        CHECK(world.leases.leased_to(tenant).value + bytes.value > ByteCount(100_MiB).value);
        continue;
      }
      const auto [executor, order] = world.asked();
      if (random() % 4 == 0) {
        world.leases.hear(executor, MemoryEnded{order.lease, LeaseEnd::revoked}, world.now);
        const auto [other, again] = world.asked();
        world.leases.hear(other, MemoryRefused{again.lease, ErrorCode::quota, "no"}, world.now);
        continue;
      }
      world.leases.hear(executor, MemoryLeased{order.lease, "h:1", order.key}, world.now);
      model[order.lease] = {tenant, bytes.value};
    } else {
      auto one = std::next(model.begin(), static_cast<long>(random() % model.size()));
      if (random() % 2 == 0)
        CHECK(world.leases.close(one->second.first, one->first, world.now).has_value());
      else
        for (const ExecutorId& executor : {first, second})
          world.leases.hear(executor, MemoryEnded{one->first, LeaseEnd::expired}, world.now);
      model.erase(one);
    }
    for (const uid_t who : {anna, bert}) {
      std::uint64_t expected = 0;
      for (const auto& [id, of] : model) expected += of.first == who ? of.second : 0;
      REQUIRE(world.leases.leased_to(who).value == expected);
      REQUIRE(expected <= ByteCount(100_MiB).value);
    }
  }
}

TEST_CASE("a lease without workers is one of memory, and its document says what is wrong") {
  const std::string body = R"({"workers":0,"memory_bytes":4096,"duration_ms":5000,"wait":"hot",)"
                           R"("boot_id":"b","constraints":{"host":"n1"}})";
  CHECK(asks_for_memory(bytes_of(body)));
  CHECK_FALSE(asks_for_memory(bytes_of(R"({"workers":1,"memory_bytes":4096})")));
  CHECK_FALSE(asks_for_memory(bytes_of("")));
  CHECK_FALSE(asks_for_memory(bytes_of("{")));
  const auto request = parse_memory_request(bytes_of(body));
  REQUIRE_MESSAGE(request.has_value(), request.error().message);
  CHECK(request->bytes.value == 4096);
  CHECK(request->wait == WaitMode::hot);
  CHECK(request->duration == seconds(5));
  CHECK(request->on.host == "n1");
  CHECK(request->on.client_host.value() == "b");
  const auto odd = parse_memory_request(bytes_of(R"({"workers":0,"memory_bytes":1,"gpus":1})"));
  REQUIRE_FALSE(odd.has_value());
  CHECK(odd.error().message.find("gpus") != std::string::npos);
  const MemoryLeaseView view{.id = {3, 4}, .bytes = 1_MiB, .open = true, .key = "secret"};
  CHECK(lease_json(view, Secrets::hidden).find("secret") == std::string::npos);
  CHECK(lease_json(view, Secrets::shown).find("secret") != std::string::npos);
  CHECK(lease_list_json({}, {view}).find("secret") == std::string::npos);
}

TEST_CASE("an executor whose call wants a lease is told where it is, if it is the tenant's") {
  MemoryWorld world;
  world.join(first, "n1", 1_GiB);
  const LeaseId lease = world.take(1_MiB);
  world.join(second, "n2", 1_GiB);
  const auto ask = [&](const FindMemory& question) {
    world.leases.hear(second, question, world.now);
    REQUIRE(world.sent.back().first == second);
    return world.sent.back().second;
  };
  const auto found = std::get<MemoryFound>(ask({4, {anna, "one"}, lease}));
  CHECK(found.question == 4);
  CHECK(found.address == "10.0.0.1:99");
  CHECK(found.key == world.asked().second.key);
  CHECK(found.bytes == 1_MiB);
  CHECK(found.host == "n1");
  CHECK(std::get<MemoryNotFound>(ask({5, {bert, "two"}, lease})).code == ErrorCode::not_found);
  CHECK(std::get<MemoryNotFound>(ask({6, {anna, "one"}, {3, 999}})).code == ErrorCode::not_found);
  REQUIRE(world.leases.close(anna, lease, world.now).has_value());
  const auto none = std::get<MemoryNotFound>(ask({7, {anna, "one"}, lease}));
  CHECK(none.question == 7);
  CHECK(none.code == ErrorCode::not_found);
}

TEST_CASE("a lease that a call cannot reach is refused with what would help") {
  MemoryWorld world;
  Executor shy{.id = first,
               .owner = {},
               .host = {.boot_id = "boot-n1", .hostname = "n1", .memory = 64_GiB},
               .lane_socket = "/run/e1",
               .data_memory = 1_GiB,
               .leases_memory = true};
  shy.host.cores = {0};
  world.join(shy);
  placement::WorkerRequest on;
  on.client_host = placement::HostId("boot-n1");
  world.open(1_MiB, anna, on);
  const auto [executor, order] = world.asked();
  world.leases.hear(executor, MemoryLeased{order.lease, "127.0.0.1:99", order.key}, world.now);
  world.join(second, "n2", 1_GiB);
  const FindMemory question{4, {anna, "one"}, order.lease};
  world.leases.hear(second, question, world.now);
  const auto refused = std::get<MemoryNotFound>(world.sent.back().second);
  CHECK(refused.code == ErrorCode::unreachable);
  CHECK(refused.message.find("--lane-listen") != std::string::npos);
  world.leases.hear(ExecutorId("nobody"), question, world.now);
  CHECK(std::get<MemoryNotFound>(world.sent.back().second).code == ErrorCode::denied);
  // Of a lease that an earlier gateway has made nobody knows the key.
  const MemoryHeld held{.lease = {2, 5}, .tenant = {anna, "one"}, .bytes = 1_MiB, .address = "h:1"};
  world.join(ExecutorId("e3"), "n3", 1_GiB, {held});
  world.leases.hear(second, FindMemory{5, {anna, "one"}, held.lease}, world.now);
  CHECK(std::get<MemoryNotFound>(world.sent.back().second).code == ErrorCode::unsupported);
}

}  // namespace orchid::gateway
