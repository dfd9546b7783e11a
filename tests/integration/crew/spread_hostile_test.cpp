// Members that write rubbish to members at another executor, and crews of two users beside each
// other at the same two executors.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "makes_modules.h"
#include "spread_fixture.h"

namespace orchid::tests {
namespace {

struct TcpEnds {
  unsigned local = 0;
  unsigned remote = 0;
};
/// The TCP connections of a process, by its descriptors.
std::map<std::uint32_t, TcpEnds> connections_of(std::int64_t pid) {
  std::map<std::string, TcpEnds> all;
  std::ifstream table("/proc/net/tcp");
  for (std::string line; std::getline(table, line);) {
    TcpEnds ends;
    char state[8] = {};
    char inode[32] = {};
    if (std::sscanf(line.c_str(), "%*s %*8x:%4x %*8x:%4x %7s %*s %*s %*s %*s %*s %31s", &ends.local,
                    &ends.remote, state, inode) == 4 &&
        std::string(state) == "01")
      all[std::string("socket:[") + inode + "]"] = ends;
  }
  std::map<std::uint32_t, TcpEnds> own;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd")) {
    std::error_code gone;
    const auto found = all.find(std::filesystem::read_symlink(entry.path(), gone).string());
    if (found != all.end())
      own[static_cast<std::uint32_t>(std::stoul(entry.path().filename().string()))] = found->second;
  }
  return own;
}
/// Descriptors of `from` that lead to `to`.
std::vector<std::uint32_t> between(std::int64_t from, std::int64_t to) {
  std::vector<std::uint32_t> found;
  const auto others = connections_of(to);
  for (const auto& [descriptor, ends] : connections_of(from))
    if (std::ranges::any_of(others, [&ends = ends](const auto& other) {
          return other.second.local == ends.remote && other.second.remote == ends.local;
        }))
      found.push_back(descriptor);
  return found;
}

/// Crews of two users, each at both executors.
struct TwoFarTenants : SpreadFixture {
  Crew ada = take_for(2000, {.workers = 4, .within = seconds(20)});
  Crew bob = take_for(3000, {.workers = 4, .within = seconds(20)});
};

}  // namespace

TEST_CASE_FIXTURE(TwoFarTenants, "crews of two users at the same two executors share nothing") {
  const Walk asked{.left = 200, .stride = 3};
  const CrewFunction adas = CrewFixture::entry(ada, "walk");
  const CrewFunction bobs = CrewFixture::entry(bob, "walk");
  std::vector<std::future<Reply>> walks;
  for (unsigned i = 0; i < 100; ++i) {
    walks.push_back(adas.async(i % 4 + 1, bytes_of(asked, i)));
    walks.push_back(bobs.async(i % 4 + 1, bytes_of(asked, i)));
  }
  for (unsigned i = 0; i < walks.size(); ++i)
    CHECK(walk_of(walks[i].get()).sum == sum_of(asked, i / 2 % 4 + 1, 4));
  const auto pids = ada.pids();
  for (const std::int64_t pid : bob.pids()) {
    CHECK(std::ranges::find(pids, pid) == pids.end());
    for (const std::int64_t other : pids) CHECK(between(pid, other).empty());
  }
  // The loss of one is not heard of in the other.
  std::future<Reply> beside = bobs.async(1, bytes_of({.left = 5'000, .stride = 1}));
  REQUIRE(::kill(static_cast<pid_t>(pids.back()), SIGKILL) == 0);
  CHECK(eventually([&] { return ada.formations() == 2 && ada.pids().size() == 4; }));
  CHECK(walk_of(beside.get()).sum == sum_of({.left = 5'000, .stride = 1}, 1, 4));
  CHECK(walk_of(adas.invoke(4, bytes_of(asked))).sum == sum_of(asked, 4, 4));
  CHECK(bob.formations() == 1);
}

TEST_CASE_FIXTURE(
    TwoFarTenants,
    "rubbish to a member elsewhere ends its own crew, which stands again, and no other") {
  const CrewFunction rubbish = CrewFixture::entry_of(
      ada, std::filesystem::path(FUNCTIONS) / "sends_rubbish.bc", "send_rubbish");
  const CrewFunction walk = CrewFixture::entry(ada, "walk");
  const CrewFunction linger = CrewFixture::entry(ada, "linger");
  const CrewFunction bobs = CrewFixture::entry(bob, "walk");
  const Walk asked{.left = 20'000, .stride = 1};
  for (const auto& [hostile, victim] : {std::pair(1U, 3U), std::pair(4U, 2U)}) {
    CAPTURE(hostile);
    const unsigned before = ada.formations();
    const auto pids = ada.pids();
    REQUIRE(pids.size() == 4);
    const auto descriptors = between(pids.at(hostile - 1), pids.at(victim - 1));
    REQUIRE_FALSE(descriptors.empty());
    std::future<Reply> beside = bobs.async(1, bytes_of(asked));
    // One that nobody may begin again is told why, wherever it is.
    std::future<Reply> bystander =
        linger.async(victim % 2 + 1, bytes_of({}), {.at_most_once = true});
    CHECK(bystander.wait_for(milliseconds(50)) == std::future_status::timeout);
    try {
      (void)rubbish.invoke(hostile, std::as_bytes(std::span(descriptors)), {.at_most_once = true});
    } catch (const Error& error) {
      check_clear(error, error.kind());
    }
    CHECK(eventually([&] { return ada.formations() > before && ada.pids().size() == 4; }));
    const Error told = error_of([&] { (void)bystander.get(); });
    check_clear(told, ErrorKind::worker_lost);
    CHECK(told.message().find("a member of the crew was lost") != std::string::npos);
    for (unsigned member = 1; member <= 4; ++member)
      CHECK(walk_of(walk.invoke(member, bytes_of({.left = 9, .stride = 1}))).left == 0);
    CHECK(ada.formations() == before + 1);
    CHECK(walk_of(beside.get()).sum == sum_of(asked, 1, 4));
    CHECK(bob.formations() == 1);
  }
}

}  // namespace orchid::tests
