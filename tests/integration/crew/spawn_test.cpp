// Calls that spawn children, and go on when these have answered.
#include <signal.h>

#include <bit>
#include <future>
#include <string>
#include <vector>

#include "crew_fixture.h"

namespace orchid::tests {
namespace {

template <typename T>
std::vector<std::byte> packed(const T& value, std::string_view more = "") {
  std::vector<std::byte> bytes(sizeof(value) + more.size());
  std::memcpy(bytes.data(), &value, sizeof(value));
  std::memcpy(bytes.data() + sizeof(value), more.data(), more.size());
  return bytes;
}
std::uint64_t fib_of(std::uint32_t n) {
  std::uint64_t last = 0;
  std::uint64_t value = 1;
  for (std::uint32_t i = 0; i < n; ++i) last = std::exchange(value, last + value);
  return last;
}
std::vector<std::byte> tree_with(std::string_view leaf, std::uint32_t depth = 20) {
  return packed(depth, leaf);
}

}  // namespace

TEST_CASE_FIXTURE(CrewFixture, "a tree of calls comes to its sum, wherever its parts have run") {
  for (const unsigned members : {2U, 4U}) {
    Crew crew = take({.workers = members});
    const CrewFunction fib = spawner(crew, "fib");
    for (const std::uint32_t n : {0U, 1U, 2U, 5U, 12U, 20U}) {
      CAPTURE(n);
      const auto sum = value_of<Fib>(fib.invoke(n % members + 1, packed(n)));
      CHECK(sum.value == fib_of(n));
      if (n == 20) CHECK(std::popcount(sum.members) > 1);
    }
    CHECK(crew.formations() == 1);
  }
}

TEST_CASE_FIXTURE(CrewFixture, "outputs come in the order of spawning, of any size") {
  struct Many {
    std::uint32_t count;
    std::uint32_t size;
  };
  Crew crew = take({.workers = 3});
  const CrewFunction spread = spawner(crew, "spread");
  for (const Many& many : {Many{0, 0}, Many{1, 0}, Many{300, 0}, Many{300, 8}, Many{300, 64},
                           Many{300, 65}, Many{300, 5000}, Many{300, 64 << 10}, Many{10'000, 8}}) {
    CAPTURE(many.count);
    CAPTURE(many.size);
    CHECK(value_of<std::uint64_t>(spread.invoke(2, packed(many))) == many.count);
  }
}

TEST_CASE_FIXTURE(CrewFixture, "many trees grow at once, beside calls that move") {
  Crew crew = take({.workers = 3});
  const CrewFunction fib = spawner(crew, "fib");
  const CrewFunction walk = entry(crew, "walk");
  std::vector<std::future<Reply>> trees;
  std::vector<std::future<Reply>> walks;
  const Walk asked{.left = 50, .stride = 1};
  for (std::uint32_t i = 0; i < 300; ++i) {
    trees.push_back(fib.async(i % 3 + 1, packed(i % 12)));
    walks.push_back(walk.async(i % 3 + 1, bytes_of(asked, i)));
  }
  for (std::uint32_t i = 0; i < 300; ++i) {
    CHECK(value_of<Fib>(trees[i].get()).value == fib_of(i % 12));
    CHECK(walk_of(walks[i].get()).sum == sum_of(asked, i % 3 + 1, 3));
  }
  CHECK(crew.formations() == 1);
}

TEST_CASE_FIXTURE(CrewFixture, "a short call is not kept waiting by a tree") {
  Crew crew = take({.workers = 2});
  std::stop_source stop;
  std::future<Reply> endless =
      spawner(crew, "then_for_ever")
          .async(1, "", {.deadline = seconds(30), .stop = stop.get_token()});
  const Walk asked{.left = 1000, .stride = 1};
  CHECK(walk_of(entry(crew, "walk").invoke(1, bytes_of(asked))).sum == sum_of(asked, 1, 2));
  stop.request_stop();
  CHECK_THROWS_AS((void)endless.get(), Error);
}

TEST_CASE_FIXTURE(CrewFixture, "a call goes on at another member when its children have answered") {
  Crew crew = take({.workers = 2});
  const auto where = value_of<Fib>(spawner(crew, "join_and_move").invoke(1, ""));
  CHECK(where.value == fib_of(10));
  CHECK(where.members == 2);
}

TEST_CASE_FIXTURE(CrewFixture, "spawning without end is refused, with the figure") {
  Crew crew = take({.workers = 2});
  const Error error = error_of([&] { (void)spawner(crew, "spawn_for_ever").invoke(1, ""); });
  check_clear(error, ErrorKind::no_capacity);
  CHECK(error.message().find("the most are 65536 and 64 MiB") != std::string::npos);
  const Error endless =
      error_of([&] { (void)spawner(crew, "then_for_ever").invoke(2, "", {.hops = 10'000}); });
  check_clear(endless, ErrorKind::limit_exceeded);
  CHECK(endless.message().find("as often as it may") != std::string::npos);
  CHECK(value_of<Fib>(spawner(crew, "fib").invoke(1, packed(std::uint32_t{15}))).value ==
        fib_of(15));
  CHECK(crew.formations() == 1);
}

TEST_CASE_FIXTURE(CrewFixture, "a child that fails fails the call, with its words and the log") {
  Crew crew = take({.workers = 2});
  const CrewFunction tree = spawner(crew, "tree_with");
  const Error error = error_of([&] { (void)tree.invoke(1, tree_with("fail")); });
  check_clear(error, ErrorKind::function_error);
  CHECK(error.message() == "a leaf has failed");
  CHECK(error.log() == std::string(21, '.'));
  CHECK(error_of([&] { (void)tree.invoke(1, tree_with("log_and_fail", 1)); }).log() ==
        "..I was here");
  const Error moves = error_of([&] { (void)tree.invoke(1, tree_with("move")); });
  check_clear(moves, ErrorKind::function_error);
  CHECK(moves.message().find("does not go on at another member") != std::string::npos);
  const Error makes = error_of([&] { (void)tree.invoke(1, tree_with("make_data")); });
  check_clear(makes, ErrorKind::function_error);
  CHECK(makes.message().find("children cannot make any") != std::string::npos);
  CHECK(value_of<Fib>(spawner(crew, "fib").invoke(1, packed(std::uint32_t{15}))).value ==
        fib_of(15));
  CHECK(crew.formations() == 1);
}

TEST_CASE_FIXTURE(CrewFixture, "a child that crashes ends its tree alone") {
  Crew crew = take({.workers = 3});
  const CrewFunction tree = spawner(crew, "tree_with");
  std::vector<std::future<Reply>> others;
  for (unsigned member = 1; member <= 3; ++member)
    others.push_back(spawner(crew, "fib").async(member, packed(std::uint32_t{18})));
  const Error error = error_of([&] { (void)tree.invoke(1, tree_with("crash")); });
  check_clear(error, ErrorKind::function_crashed);
  CHECK(error.attempt() == 1);
  for (auto& other : others) CHECK(value_of<Fib>(other.get()).value == fib_of(18));
}

TEST_CASE_FIXTURE(CrewFixture, "a tree ends by its caller's wish, and at its deadline") {
  Crew crew = take({.workers = 2});
  const CrewFunction tree = spawner(crew, "tree_with");
  const CrewFunction fib = spawner(crew, "fib");
  std::stop_source stop;
  std::future<Reply> lingers = tree.async(1, tree_with("linger"), {.stop = stop.get_token()});
  CHECK(lingers.wait_for(milliseconds(50)) == std::future_status::timeout);
  std::future<Reply> grows = fib.async(2, packed(std::uint32_t{60}), {.stop = stop.get_token()});
  CHECK(grows.wait_for(milliseconds(50)) == std::future_status::timeout);
  stop.request_stop();
  check_clear(error_of([&] { (void)lingers.get(); }), ErrorKind::cancelled);
  check_clear(error_of([&] { (void)grows.get(); }), ErrorKind::cancelled);
  CHECK(value_of<Fib>(fib.invoke(1, packed(std::uint32_t{15}))).value == fib_of(15));
  // A member that runs at that moment is ended for it, as one that is slow to hear of a wish.
  const CrewCallOptions soon{.deadline = milliseconds(80)};
  check_clear(error_of([&] { (void)tree.invoke(1, tree_with("linger"), soon); }),
              ErrorKind::deadline_exceeded);
  check_clear(error_of([&] { (void)fib.invoke(1, packed(std::uint32_t{60}), soon); }),
              ErrorKind::deadline_exceeded);
  CHECK(value_of<Fib>(fib.invoke(1, packed(std::uint32_t{15}))).value == fib_of(15));
}

TEST_CASE_FIXTURE(CrewFixture,
                  "each member is killed or stopped amid trees, which all come to their sums") {
  constexpr unsigned members = 3;
  Crew crew = take({.workers = members});
  const CrewFunction fib = spawner(crew, "fib");
  for (unsigned round = 0; round < 2 * members; ++round) {
    CAPTURE(round);
    const unsigned before = crew.formations();
    std::vector<std::future<Reply>> trees;
    for (std::uint32_t i = 0; i < 6; ++i)
      trees.push_back(fib.async(i % members + 1, packed(std::uint32_t{20})));
    const auto pids = crew.pids();
    REQUIRE(pids.size() == members);
    REQUIRE(::kill(static_cast<pid_t>(pids[round / 2]), round % 2 == 0 ? SIGKILL : SIGSTOP) == 0);
    for (auto& tree : trees) CHECK(value_of<Fib>(tree.get()).value == fib_of(20));
    CHECK(eventually([&] { return crew.pids().size() == members && crew.formations() > before; }));
  }
}

TEST_CASE_FIXTURE(CrewFixture, "a lost tree that may run at most once is not begun again") {
  Crew crew = take({.workers = 2});
  std::future<Reply> lingers =
      spawner(crew, "tree_with").async(1, tree_with("linger"), {.at_most_once = true});
  CHECK(lingers.wait_for(milliseconds(100)) == std::future_status::timeout);
  REQUIRE(::kill(static_cast<pid_t>(crew.pids().at(1)), SIGKILL) == 0);
  check_clear(error_of([&] { (void)lingers.get(); }), ErrorKind::worker_lost);
}

TEST_CASE_FIXTURE(CrewFixture, "what makes no sense fails the call, and says what to do") {
  struct Wrong {
    const char* entry;
    ErrorKind kind;
    const char* words;
  };
  Crew crew = take({.workers = 2});
  for (const Wrong& wrong : std::initializer_list<Wrong>{
           {"spawn_only", ErrorKind::function_error, "has not said with orchid_then"},
           {"spawn_nobody", ErrorKind::function_error, "has an entry 'nonesuch'"},
           {"spawn_too_much", ErrorKind::limit_exceeded, "over the limit of 64 KiB"},
           {"both_ways", ErrorKind::function_error, "only go on in one way"},
           {"spawn_and_fail", ErrorKind::function_error, "it has changed its mind"}}) {
    CAPTURE(wrong.entry);
    const Error error = error_of([&] { (void)spawner(crew, wrong.entry).invoke(1, ""); });
    check_clear(error, wrong.kind);
    CHECK(error.message().find(wrong.words) != std::string::npos);
  }
  CHECK(value_of<Fib>(spawner(crew, "fib").invoke(1, packed(std::uint32_t{10}))).value ==
        fib_of(10));
  CHECK(crew.formations() == 1);
}

}  // namespace orchid::tests
