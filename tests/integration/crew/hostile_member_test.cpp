// Members that write rubbish into their crew, and crews beside it.
#include <atomic>
#include <future>
#include <string>
#include <vector>

#include "crew_fixture.h"
#include "transport/crew_memory.h"

namespace orchid::tests {
namespace {

/// As tests/data/functions/spoils_crew.c has it.
struct Pair {
  std::uint64_t direction_bytes = transport::CrewLayout::direction_bytes;
  std::uint64_t rooms_offset = (sizeof(transport::CrewRing) + 4095) / 4096 * 4096;
  std::uint64_t room_bytes = transport::crew_room_bytes;
  std::uint64_t entry_bytes = sizeof(transport::LaneEntry);
  std::uint64_t entries = crew::ring_entries;
  std::uint64_t sequence_offset = offsetof(CallHeader, sequence);
  std::uint64_t taken_offset = offsetof(transport::CrewRing, taken);
};
std::vector<std::byte> pair_bytes() {
  const Pair pair;
  std::vector<std::byte> bytes(4096);
  std::memcpy(bytes.data(), &pair, sizeof(pair));
  return bytes;
}
CrewFunction spoiler(Crew& crew, std::string_view name) {
  return CrewFixture::entry_of(crew, std::filesystem::path(FUNCTIONS) / "spoils_crew.bc", name);
}

/// Crews of two users at one executor.
struct TwoTenants : CrewFixture {
  [[nodiscard]] Crew take_for(std::uint32_t tenant, const CrewOptions& options) {
    auto owned = std::make_unique<ExecutorCrews>(executor);
    owned->tenant = tenant;
    return take_crew(std::move(owned), options);
  }
  Crew ada = take_for(2000, {.workers = 2});
  Crew bob = take_for(3000, {.workers = 2});
};

}  // namespace

TEST_CASE_FIXTURE(TwoTenants, "crews of two users stand beside each other, and share nothing") {
  const Walk asked{.left = 1000, .stride = 1};
  const CrewFunction adas = entry(ada, "walk");
  const CrewFunction bobs = entry(bob, "walk");
  std::vector<std::future<Reply>> walks;
  for (unsigned i = 0; i < 100; ++i) {
    walks.push_back(adas.async(i % 2 + 1, bytes_of(asked, i)));
    walks.push_back(bobs.async(i % 2 + 1, bytes_of(asked, i)));
  }
  for (unsigned i = 0; i < walks.size(); ++i)
    CHECK(walk_of(walks[i].get()).sum == sum_of(asked, i / 2 % 2 + 1, 2));
  const auto pids = ada.pids();
  for (const std::int64_t pid : bob.pids()) CHECK(std::ranges::find(pids, pid) == pids.end());
  CHECK(ada.formations() == 1);
  CHECK(bob.formations() == 1);
}

TEST_CASE_FIXTURE(TwoTenants, "a member that writes rubbish spoils its own crew, and it says so") {
  const CrewFunction bobs = entry(bob, "walk");
  const Walk asked{.left = 20'000, .stride = 1};
  std::future<Reply> beside = bobs.async(1, bytes_of(asked));
  const CrewFunction walk = entry(ada, "walk");
  (void)spoiler(ada, "go_and_spoil").invoke(1, pair_bytes());
  // Member 1 reads it now, if it has not yet.
  const Error error = error_of([&] {
    while (ada.formations() == 1)
      (void)walk.invoke(1, bytes_of({.left = 3}), {.at_most_once = true});
    throw Error({.kind = ErrorKind::internal, .message = "nobody was told"});
  });
  if (error.kind() != ErrorKind::internal) {
    check_clear(error, ErrorKind::worker_lost);
    CHECK(error.message().find("member 2 wrote nonsense into its crew") != std::string::npos);
  }
  CHECK(walk_of(walk.invoke(1, bytes_of({.left = 3}))).left == 0);
  CHECK(ada.formations() == 2);
  CHECK(walk_of(beside.get()).sum == sum_of(asked, 1, 2));
  CHECK(bob.formations() == 1);
}

TEST_CASE_FIXTURE(TwoTenants, "a call that spoils its crew each time ends with a true error") {
  const CrewFunction again = spoiler(ada, "spoil_again");
  const Error error = error_of([&] { (void)again.invoke(1, pair_bytes()); });
  check_clear(error, ErrorKind::worker_lost);
  CHECK(error.message().find("member 2 wrote nonsense into its crew") != std::string::npos);
  CHECK(walk_of(entry(ada, "walk").invoke(1, bytes_of({.left = 3}))).left == 0);
  CHECK(bob.formations() == 1);
  CHECK(walk_of(entry(bob, "walk").invoke(1, bytes_of({.left = 3}))).left == 0);
}

}  // namespace orchid::tests
