#include "hosts/host_book.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "reports/host_report.h"
#include "worker_requests.h"

namespace orchid::gateway {
namespace {

Executor known_executor(std::string id, std::string boot_id, std::vector<std::uint32_t> cores,
                        uid_t uid = 1000) {
  return {.id = ExecutorId(id),
          .owner = {.tenant = {uid, "user" + std::to_string(uid)}, .peer_uid = uid},
          .host = {.boot_id = boot_id,
                   .hostname = "host-" + boot_id,
                   .cores = std::move(cores),
                   .memory = 8_GiB},
          .version = "0.1",
          .lane_socket = "/run/" + id};
}

nlohmann::json hosts_json(const HostBook& hosts, const LeaseBook& leases, const Capacity& capacity,
                          const HostViewer& viewer, std::optional<std::uint64_t> job,
                          MonotonicTime now) {
  HostsReport report(
      {.hosts = hosts, .leases = leases, .capacity = capacity, .viewer = viewer, .job = job});
  while (report.go_on(now)) {
  }
  return report.take();
}

TEST_CASE("a host's cores are counted once, whoever offers them") {
  HostBook book;
  book.join(known_executor("a", "boot1", {0, 1, 2}, 1));
  book.join(known_executor("b", "boot1", {2, 3}, 2));
  book.join(known_executor("c", "boot2", {0}, 1));
  CHECK(book.host_cores("boot1") == 4);
  CHECK(book.host_cores("boot2") == 1);
  CHECK(book.host_cores("boot3") == 0);
}

TEST_CASE("hosts are found by what their executors call them") {
  HostBook book;
  using Hosts = std::set<std::string>;
  Executor pilot = known_executor("pilot", "boot1", {0});
  pilot.grant.node = "n1";
  book.join(pilot);
  book.join(known_executor("local", "boot1", {1}));
  book.join(known_executor("other", "boot2", {0}));
  CHECK(book.boot_ids_of({.names = {"n1"}}) == Hosts{"boot1"});
  CHECK(book.boot_ids_of({.names = {"host-boot1", "host-boot2", "n1", ""}}) ==
        Hosts{"boot1", "boot2"});
  book.remove(ExecutorId("pilot"));
  CHECK(book.boot_ids_of({.names = {"n1"}}).empty());
  CHECK(book.boot_ids_of({.names = {"host-boot1"}}) == Hosts{"boot1"});
  CHECK(book.boot_ids() == Hosts{"boot1", "boot2"});
  CHECK(book.boot_ids_of({.all = true}) == book.boot_ids());
  Executor far = known_executor("far", "boot3", {0});
  far.host.hostname = "n7.fern.example.org";
  book.join(far);
  CHECK(book.boot_ids_of({.names = {"n7"}}) == Hosts{"boot3"});
  CHECK(book.boot_ids_of({.names = {"n7.fern.example.org"}}) == Hosts{"boot3"});
  book.remove(ExecutorId("far"));
  CHECK(book.boot_ids_of({.names = {"n7"}}).empty());
}

TEST_CASE("a new executor process replaces its owner's lost one on the same host, and no other") {
  HostBook book;
  book.join(known_executor("old", "boot1", {0}, 1));
  book.join(known_executor("living", "boot1", {0}, 1));
  book.join(known_executor("other-user", "boot1", {0}, 2));
  book.join(known_executor("other-host", "boot2", {0}, 1));
  for (const char* id : {"old", "other-user", "other-host"})
    book.lose(ExecutorId(id), MonotonicTime{});
  const auto replaced = book.join(known_executor("new", "boot1", {0}, 1));
  REQUIRE(replaced.size() == 1);
  CHECK(replaced[0] == ExecutorId("old"));
  CHECK(book.find(ExecutorId("old")) == nullptr);
  CHECK(book.executors().size() == 4);
}

TEST_CASE("a lost pilot's executor is not replaced by another job's") {
  HostBook book;
  const auto pilot = [](std::string id, std::uint64_t job) {
    Executor one = known_executor(std::move(id), "boot1", {0});
    one.grant = {.source = GrantSource::pilot, .cluster = "fern", .job = job};
    return one;
  };
  book.join(pilot("first", 1));
  book.lose(ExecutorId("first"), MonotonicTime{});
  CHECK(book.join(pilot("second", 2)).empty());
  CHECK(book.join(known_executor("local", "boot1", {0})).empty());
  CHECK(book.of_host("boot1").size() == 3);
  CHECK(book.join(pilot("first again", 1)).size() == 1);
  CHECK(book.find(ExecutorId("first")) == nullptr);
}

TEST_CASE("a new executor at the same lane socket replaces the one before it at once") {
  HostBook book;
  book.join(known_executor("old", "boot1", {0}));
  Executor fresh = known_executor("new", "boot1", {0});
  fresh.lane_socket = "/run/old";
  CHECK(book.join(fresh).size() == 1);
}

TEST_CASE("a lost executor is remembered with the time of its loss until it comes back") {
  HostBook book;
  book.join(known_executor("a", "boot1", {0}));
  const MonotonicTime t = MonotonicTime{} + std::chrono::seconds(10);
  book.lose(ExecutorId("a"), t);
  book.lose(ExecutorId("a"), t + std::chrono::seconds(5));  // it is lost already
  CHECK(book.lost_before(t - std::chrono::seconds(1)).empty());
  CHECK(book.lost_before(t).size() == 1);
  book.resume(ExecutorId("a"));
  CHECK(book.lost_before(t + std::chrono::hours(1)).empty());
}

TEST_CASE("the hosts report names hosts, their executors and what is leased") {
  HostBook book;
  book.join(known_executor("a", "boot1", {0, 1}));
  book.report(ExecutorId("a"), {.cores_free = 1, .workers_ready = 2, .counters = {{"forks", 3}}});
  Capacity capacity(book, {});
  CHECK(capacity.refresh("boot1", MonotonicTime{}).empty());
  LeaseBook leases(1, book, capacity);
  REQUIRE(leases.open({.holder = HolderId(1)}, {.worker = on_host("boot1")}, MonotonicTime{})
              .lease.has_value());
  const auto json = hosts_json(book, leases, capacity, {}, std::nullopt, MonotonicTime{});
  REQUIRE(json.size() == 1);
  const auto& host = json[0];
  CHECK(host["hostname"] == "host-boot1");
  CHECK(host["cores"] == 2);
  CHECK(host["cores_leased"] == 1);
  CHECK(host["executors"][0]["state"] == "connected");
  CHECK(host["executors"][0]["workers_ready"] == 2);
  CHECK(host["executors"][0]["counters"]["forks"] == 3);
}

TEST_CASE("whose a grant is, the site's executors say, and nobody else's") {
  const GrantTerms told{
      .source = GrantSource::share, .job = 17, .owner = 1000, .users = GrantUsers::everybody};
  CHECK(believed(told, 7, 7) == told);
  const GrantTerms own = believed(told, 1001, 7);
  CHECK(own.owner == 1001);
  CHECK(own.users == GrantUsers::owner);
  CHECK_FALSE(believed({}, 7, 7).users.has_value());
}

TEST_CASE("a grant that is for its owner takes nobody else's workers") {
  HostBook book;
  Executor shared = known_executor("a", "boot1", {0, 1});
  shared.grant.owner = 1000;
  shared.grant.users = GrantUsers::owner;
  book.join(shared);
  Capacity capacity(book, {});
  CHECK(capacity.refresh("boot1", MonotonicTime{}).empty());
  const auto place = [&](std::uint32_t uid) {
    return capacity.place({.tenant = placement::TenantId(uid), .worker = on_host("boot1")},
                          MonotonicTime{});
  };
  CHECK(place(1001).refusal.has_value());
  CHECK(place(7).refusal.has_value());  // whose token the executor has does not matter
  CHECK_FALSE(place(1000).refusal.has_value());
}

TEST_CASE("of others' grants a tenant sees neither owner nor job") {
  HostBook book;
  Executor shared = known_executor("a", "boot1", {0, 1});
  shared.grant.source = GrantSource::share;
  shared.grant.job = 17;
  shared.grant.owner = 1000;
  shared.granted_by = "alice";
  book.join(shared);
  Capacity capacity(book, {});
  CHECK(capacity.refresh("boot1", MonotonicTime{}).empty());
  const LeaseBook leases(1, book, capacity);
  const auto seen = [&](HostViewer viewer) {
    return hosts_json(book, leases, capacity, viewer, std::nullopt,
                      MonotonicTime{})[0]["executors"][0];
  };
  CHECK(seen({.uid = 1000, .sees_all = false})["grant"]["job"] == 17);
  CHECK(seen({.uid = 1000, .sees_all = false})["owner"] == "alice");
  CHECK(seen({.uid = 1001, .sees_all = true})["owner"] == "alice");
  const auto foreign = seen({.uid = 1001, .sees_all = false});
  CHECK_FALSE(foreign["grant"].contains("job"));
  CHECK_FALSE(foreign["grant"].contains("cluster"));
  CHECK(foreign["owner"] == "another user");
  CHECK(foreign["cores"].size() == 2);
}

TEST_CASE("many hosts are told in parts, and one that goes in between is left out") {
  HostBook book;
  for (int i = 1000; i < 1600; ++i) {
    const std::string number = std::to_string(i);
    book.join(known_executor("e" + number, "boot" + number, {0}));
  }
  Capacity capacity(book, {});
  const LeaseBook leases(1, book, capacity);
  HostsReport report(
      {.hosts = book, .leases = leases, .capacity = capacity, .viewer = {}, .job = std::nullopt});
  CHECK(report.go_on(MonotonicTime{}));
  book.remove(ExecutorId("e1599"));
  book.join(known_executor("late", "boot1599a", {0}));
  int parts = 1;
  while (report.go_on(MonotonicTime{})) ++parts;
  CHECK(parts == 2);
  const auto told = report.take();
  REQUIRE(told.size() == 599);
  CHECK(told[0]["boot_id"] == "boot1000");
  CHECK(told[598]["boot_id"] == "boot1598");
}

TEST_CASE("a lease that opens while the hosts are being told is its executor's and its host's") {
  HostBook book;
  book.join(known_executor("a", "boot1", {0, 1}));
  Capacity capacity(book, {});
  REQUIRE(capacity.refresh("boot1", MonotonicTime{}).empty());
  LeaseBook leases(1, book, capacity);
  HostsReport report(
      {.hosts = book, .leases = leases, .capacity = capacity, .viewer = {}, .job = std::nullopt});
  REQUIRE(leases.open({.holder = HolderId(1)}, {.worker = on_host("boot1")}, MonotonicTime{})
              .lease.has_value());
  CHECK_FALSE(report.go_on(MonotonicTime{}));
  const auto told = report.take();
  CHECK(told[0]["cores_leased"] == 1);
  CHECK(told[0]["executors"][0]["cores_leased"] == 1);
}

TEST_CASE("of one batch job only its executors are told, and to others not even these") {
  HostBook book;
  for (const std::uint64_t job : {17, 18}) {
    Executor shared = known_executor("e" + std::to_string(job), "boot1", {0, 1});
    shared.grant.source = GrantSource::share;
    shared.grant.job = job;
    shared.grant.owner = 1000;
    book.join(shared);
  }
  book.join(known_executor("local", "boot2", {0}));
  CHECK(book.connected() == 3);
  book.lose(ExecutorId("e18"), MonotonicTime{});
  CHECK(book.connected() == 2);
  Capacity capacity(book, {});
  const LeaseBook leases(1, book, capacity);
  const auto told = [&](std::uint32_t uid, std::uint64_t job) {
    return hosts_json(book, leases, capacity, {.uid = uid, .sees_all = false}, job,
                      MonotonicTime{});
  };
  REQUIRE(told(1000, 17).size() == 1);
  REQUIRE(told(1000, 17)[0]["executors"].size() == 1);
  CHECK(told(1000, 17)[0]["executors"][0]["id"] == "e17");
  CHECK(told(1000, 19).empty());
  CHECK(told(1001, 17).empty());
}

}  // namespace
}  // namespace orchid::gateway
