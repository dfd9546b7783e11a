// A crew whose members are on two hosts, and whose client is on a third.
#include <doctest/doctest.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <future>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chase_table.h"
#include "clear_error.h"
#include "harness/machine.h"
#include "kvstore/record.h"
#include "orchid/crew.h"
#include "protocol/digest.h"
#include "site.h"

namespace orchid::tests {
namespace {

/// As tests/data/functions/walks_crew.c has it.
struct CrewWalk {
  std::uint32_t left = 0;
  std::uint32_t stride = 1;
  std::uint64_t sum = 0;
};

std::span<const std::byte> input_of(const CrewWalk& walk) {
  return std::as_bytes(std::span(&walk, 1));
}
/// More than one host has cores for.
constexpr unsigned members = 4;
/// From member 1 on.
constexpr std::uint64_t sum_of(std::uint32_t left) { return left / 4 * 10 + 1; }

std::uint64_t sum_in(const Reply& reply) {
  CrewWalk end;
  REQUIRE(reply.output.size() == sizeof(end));
  std::memcpy(&end, reply.output.data(), sizeof(end));
  return end.sum;
}

Crew crew_of(Client& client) {
  return client.crew({.workers = members, .within = std::chrono::seconds(30), .lane = "auto"});
}

/// On which host each member is, by number.
std::vector<unsigned> hosts_of_members(const Site& site, const Crew& crew) {
  std::vector<unsigned> found;
  for (const std::int64_t pid : crew.pids())
    for (unsigned host = 0; host < Site::host_count; ++host) {
      const auto tree = bench::process_tree(site.executor(host));
      if (std::ranges::find(tree, static_cast<pid_t>(pid)) != tree.end()) found.push_back(host);
    }
  REQUIRE(found.size() == members);
  return found;
}
std::string name_in(const std::string& name) { return name + '\0'; }
std::string text_in(const Reply& reply) {
  return {reinterpret_cast<const char*>(reply.output.data()), reply.output.size()};
}
/// Functions name an object with a zero behind it.
std::string name_of(const std::string& object) { return object.substr(0, object.find('\0')); }
std::uint32_t member_in(const Reply& reply) {
  std::uint32_t member = 0;
  REQUIRE(reply.output.size() == sizeof(member));
  std::memcpy(&member, reply.output.data(), sizeof(member));
  return member;
}

}  // namespace

TEST_CASE("a crew walks over two hosts, is shown there, and stands again when a member is killed") {
  if (!hosts) return;
  Site site;
  Client client = site.client();
  client.deploy("walks_crew", module_bytes("walks_crew"));
  Crew crew = crew_of(client);
  const auto lease = nlohmann::json::parse(client.get("/v1/leases/" + crew.id()));
  CHECK(lease.at("crew") == true);
  std::set<std::string> nodes;
  for (const auto& worker : lease.at("workers")) nodes.insert(worker.at("node").get<std::string>());
  CHECK(nodes.size() == Site::host_count);
  const CrewFunction walk = crew.function("walks_crew.walk");
  CHECK(sum_in(walk.invoke(1, input_of({.left = 1000}))) == sum_of(1000));
  for (unsigned victim = 0; victim < members; ++victim) {
    CAPTURE(victim);
    const auto pids = crew.pids();
    REQUIRE(pids.size() == members);
    std::vector<std::future<Reply>> replies;
    for (unsigned i = 0; i < 8; ++i) replies.push_back(walk.async(1, input_of({.left = 2000})));
    REQUIRE(::kill(static_cast<pid_t>(pids.at(victim)), SIGKILL) == 0);
    for (auto& reply : replies) CHECK(sum_in(reply.get()) == sum_of(2000));
    CHECK(eventually([&] { return crew.pids().size() == members && crew.pids() != pids; },
                     std::chrono::seconds(20)));
  }
}

TEST_CASE(
    "a module that a call has made on one host is made on the other when a call comes there") {
  if (!hosts) return;
  Site site;
  Client client = site.client();
  client.deploy("makes_modules", module_bytes("makes_modules"));
  Crew crew = crew_of(client);
  const CrewFunction make = crew.function("makes_modules.specialise_and_go");
  for (std::uint32_t from = 1; from <= members; ++from)
    for (std::uint32_t member = 1; member <= members; ++member) {
      CAPTURE(from);
      CAPTURE(member);
      // To that member, in a module whose constant `answer` is another one.
      const std::uint64_t answer = std::uint64_t{10} * from + member;
      std::vector<std::byte> input;
      const auto add = [&](const void* bytes, std::size_t size) {
        const auto* first = static_cast<const std::byte*>(bytes);
        input.insert(input.end(), first, first + size);
      };
      add(&member, sizeof(member));
      add("answer", sizeof("answer"));
      add(&answer, sizeof(answer));
      const Reply reply = make.invoke(from, input);
      std::uint64_t said = 0;
      std::uint64_t said_by = 0;
      REQUIRE(reply.output.size() == 40);
      std::memcpy(&said, reply.output.data(), sizeof(said));
      std::memcpy(&said_by, reply.output.data() + 32, sizeof(said_by));
      CHECK(said == answer);
      CHECK(said_by == member);
    }
  CHECK(crew.formations() == 1);
}

TEST_CASE("a crew of which a host is unplugged goes on when the host is back") {
  if (!hosts) return;
  Site site;
  Client client = site.client();
  client.deploy("walks_crew", module_bytes("walks_crew"));
  Crew crew = crew_of(client);
  const CrewFunction walk = crew.function("walks_crew.walk");
  std::future<Reply> walking =
      walk.async(1, input_of({.left = 100'000}), {.deadline = std::chrono::seconds(100)});
  {
    const Unplugged silent(1);
    CHECK(eventually([&] { return crew.pids().empty(); }, std::chrono::seconds(30)));
  }
  CHECK(sum_in(walking.get()) == sum_of(100'000));
}

TEST_CASE("walks of a crew whose hosts are taken back one after the other end as they should") {
  if (!hosts) return;
  Site site;
  Client client = site.client();
  client.deploy("walks_crew", module_bytes("walks_crew"));
  Crew crew = crew_of(client);
  const CrewFunction walk = crew.function("walks_crew.walk");
  const CrewWalk asked{.left = 3'000};
  for (unsigned host = 0; host < Site::host_count; ++host) {
    CAPTURE(host);
    std::vector<std::future<Reply>> walks;
    for (unsigned i = 0; i < 8; ++i)
      walks.push_back(walk.async(1, input_of(asked), {.deadline = std::chrono::seconds(100)}));
    site.take_back(host);
    // One that has no time for the host to come back either ends, or says what it waited for.
    try {
      CHECK(sum_in(walk.invoke(1, input_of(asked), {.deadline = std::chrono::seconds(2)})) ==
            sum_of(asked.left));
    } catch (const Error& error) {
      check_clear(error, ErrorKind::deadline_exceeded);
    }
    site.offer_again(host);
    for (auto& each : walks) CHECK(sum_in(each.get()) == sum_of(asked.left));
    CHECK(eventually([&] { return crew.pids().size() == members; }, std::chrono::seconds(30)));
  }
  CHECK(crew.formations() > Site::host_count);
}

TEST_CASE("a call of a crew on two hosts goes on at the host that has its data") {
  if (!hosts) return;
  Site site;
  Client client = site.client();
  client.deploy("goes_to_data", module_bytes("goes_to_data"));
  Crew crew = crew_of(client);
  const CrewFunction make = crew.function("goes_to_data.make_object");
  const CrewFunction go = crew.function("goes_to_data.to_object");
  const auto at = hosts_of_members(site, crew);
  CHECK(std::set(at.begin(), at.end()).size() == Site::host_count);
  for (const bool by_name : {true, false})
    for (unsigned maker = 1; maker <= members; ++maker) {
      CAPTURE(by_name);
      CAPTURE(maker);
      const std::string name = (by_name ? "named" : "other") + std::to_string(maker);
      const std::string id = text_in(make.invoke(maker, name_in(name)));
      for (unsigned from = 1; from <= members; ++from) {
        const std::uint32_t end = member_in(go.invoke(from, by_name ? name_in(name) : id));
        CHECK(at.at(end - 1) == at.at(maker - 1));
      }
    }
  // What is on both hosts is found on each.
  (void)make.invoke(1, name_in("everywhere"));
  (void)client.copy_data("everywhere", {.copies = Site::host_count});
  CHECK(eventually([&] { return client.describe_data("everywhere").hosts.size() == 2; },
                   std::chrono::seconds(30)));
  for (unsigned from = 1; from <= members; ++from)
    CHECK(at.at(member_in(go.invoke(from, name_in("everywhere"))) - 1) == at.at(from - 1));
  try {
    (void)go.invoke(1, name_in("nonesuch"));
    FAIL("it has gone somewhere");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::function_error);
    CHECK(std::string(error.message()).find("nonesuch") != std::string::npos);
  }
  CHECK(crew.formations() == 1);
}

TEST_CASE("code that a call on one host names comes to a crew's members on both") {
  if (!hosts) return;
  Site site;
  Client client = site.client();
  client.deploy("brings_code", module_bytes("brings_code"));
  client.deploy("echo", module_bytes_of(EXAMPLES "/echo.bc"));
  Crew crew = crew_of(client);
  const std::string digest = digest_of(module_bytes_of(EXAMPLES "/echo.bc"));
  for (const std::string& function : {std::string("echo.echo"), digest + ".echo"})
    for (const char* way : {"by_forward", "by_invoke", "by_spawn"})
      for (std::uint32_t from = 1; from <= members; ++from) {
        CAPTURE(function);
        CAPTURE(way);
        CAPTURE(from);
        const std::uint32_t to = members + 1 - from;
        std::string wish(reinterpret_cast<const char*>(&to), sizeof(to));
        wish += name_in(function) + "hello";
        CHECK(text_in(crew.function(std::string("brings_code.") + way).invoke(from, wish)) ==
              "hello");
      }
  CHECK(crew.formations() == 1);
}

TEST_CASE("chases go over a table whose parts are data objects of two hosts") {
  if (!hosts) return;
  Site site;
  Client client = site.client();
  client.deploy("chase", module_bytes_of(EXAMPLES "/chase.bc"));
  Crew crew = crew_of(client);
  const auto at = hosts_of_members(site, crew);
  CHECK(std::set(at.begin(), at.end()).size() == Site::host_count);
  ChaseOverData asked{.parts = members};
  std::string ids;
  for (std::uint32_t part = 0; part < asked.parts; ++part) {
    const std::array<std::uint32_t, 4> wanted{asked.entries, part, asked.parts, 0};
    const std::string id = text_in(
        crew.function("chase.chase_part").invoke(part + 1, std::as_bytes(std::span(wanted))));
    CHECK(client.describe_data(name_of(id)).hosts ==
          std::vector<std::string>{HostNamespaces::name(at.at(part))});
    ids += id;
  }
  // Each step looks into the index, so each host has it.
  const std::string index = text_in(crew.function("chase.chase_index").invoke(1, ids));
  REQUIRE(index.size() <= asked.index.size());
  std::ranges::copy(index, asked.index.begin());
  (void)client.copy_data(name_of(index), {.copies = Site::host_count});
  CHECK(eventually(
      [&] { return client.describe_data(name_of(index)).hosts.size() == Site::host_count; },
      std::chrono::seconds(30)));
  const CrewFunction chase = crew.function("chase.chase_data");
  std::vector<ChaseOverData> all;
  std::vector<std::future<Reply>> ends;
  for (const std::uint32_t left : {0U, 1U, 64U, 500U})
    for (std::uint32_t from = 1; from <= members; ++from) {
      asked.left = left;
      asked.at = left * 3 + from;
      all.push_back(asked);
      ends.push_back(chase.async(from, std::as_bytes(std::span(&asked, 1))));
    }
  for (std::size_t i = 0; i < all.size(); ++i) {
    ChaseEnd end{};
    const Reply reply = ends[i].get();
    REQUIRE(reply.output.size() == sizeof(end));
    std::memcpy(&end, reply.output.data(), sizeof(end));
    CHECK(end == follow(all[i]));
  }
  CHECK(crew.formations() == 1);
}

TEST_CASE("a look-up goes to the record on whichever host, and a filter goes along") {
  if (!hosts) return;
  Site site;
  Client client = site.client();
  client.deploy("kvstore", module_bytes_of(EXAMPLES "/kvstore.bc"));
  client.deploy("filters", module_bytes_of(EXAMPLES "/filters.bc"));
  Crew crew = crew_of(client);
  const CrewFunction get = crew.function("kvstore.kv_get");
  for (std::uint64_t key = 144; key < 144 + members; ++key)  // one of each member
    for (std::uint32_t from = 1; from <= members; ++from) {
      CAPTURE(key);
      CAPTURE(from);
      kvstore::Lookup asked{.records = 1000, .key = key, .filter = {}};
      std::ranges::copy(std::string_view("filters.is_whole"), asked.filter.begin());
      const Reply reply = get.invoke(from, std::as_bytes(std::span(&asked, 1)));
      CHECK(reply.output.size() == (key == 144 ? sizeof(kvstore::Record) : 0));
      asked.filter = {};
      kvstore::Record record{};
      const Reply unfiltered = get.invoke(from, std::as_bytes(std::span(&asked, 1)));
      REQUIRE(unfiltered.output.size() == sizeof(record));
      std::memcpy(&record, unfiltered.output.data(), sizeof(record));
      CHECK(record.key == key);
      CHECK(record.value == std::sqrt(static_cast<double>(key)));
    }
  CHECK(crew.formations() == 1);
}

}  // namespace orchid::tests
