// A crew whose members are on two hosts, and whose client is on a third.
#include <doctest/doctest.h>
#include <signal.h>

#include <cstring>
#include <future>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "orchid/crew.h"
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

}  // namespace

TEST_CASE("a crew walks over two hosts, is shown there, and stands again when a member is killed") {
  if (!hosts) return;
  Site site;
  Client client = site.client();
  client.deploy("walks_crew", module_bytes("walks_crew"));
  Crew crew = client.crew({.workers = members, .within = std::chrono::seconds(30), .lane = "auto"});
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

TEST_CASE("a crew of which a host is unplugged goes on when the host is back") {
  if (!hosts) return;
  Site site;
  Client client = site.client();
  client.deploy("walks_crew", module_bytes("walks_crew"));
  Crew crew = client.crew({.workers = members, .within = std::chrono::seconds(30), .lane = "auto"});
  const CrewFunction walk = crew.function("walks_crew.walk");
  std::future<Reply> walking =
      walk.async(1, input_of({.left = 100'000}), {.deadline = std::chrono::seconds(100)});
  {
    const Unplugged silent(1);
    CHECK(eventually([&] { return crew.pids().empty(); }, std::chrono::seconds(30)));
  }
  CHECK(sum_in(walking.get()) == sum_of(100'000));
}

}  // namespace orchid::tests
