// Modules that calls make while they run.
#include <signal.h>

#include <algorithm>
#include <array>
#include <future>
#include <string>
#include <vector>

#include "compile_bomb.h"
#include "crew_fixture.h"
#include "makes_modules.h"
#include "orchid/function.h"
#include "protocol/digest.h"

namespace orchid::tests {
TEST_CASE_FIXTURE(CrewFixture, "a call goes on in a module that it has made, at each member") {
  Crew crew = take({.workers = 3});
  const CrewFunction deploy = maker(crew);
  const auto module = test_module("walks_crew");
  const auto asked = bytes_of({.left = 7, .stride = 1});
  for (const std::uint32_t how : {by_forward, by_invoke, by_spawn})
    for (std::uint32_t member = 1; member <= 3; ++member) {
      CAPTURE(ways.at(how));
      CAPTURE(member);
      const bool moves = how == by_forward;
      const auto input = moves ? asked : bytes_of({.left = 0});
      const Reply reply =
          deploy.invoke(1, plan_of({.how = how, .member = member, .input = input}, module));
      if (moves) CHECK(walk_of(reply).sum == sum_of({.left = 7, .stride = 1}, member, 3));
      CHECK(walk_of(reply).left == 0);
    }
  CHECK(text_of(deploy.invoke(2, plan_of({}, module))) == digest_of(module));
  CHECK(crew.formations() == 1);
}

TEST_CASE_FIXTURE(CrewFixture, "a call goes on in bitcode that it has built") {
  Crew crew = take({.workers = 3});
  const CrewFunction deploy = maker(crew, "deploy_changed_and_go");
  const auto module = test_module("walks_crew");
  const Walk asked{.left = 7, .stride = 1};
  for (std::uint32_t member = 1; member <= 3; ++member) {
    const auto plan = plan_of(
        {.how = by_forward, .member = member, .entry = "tour", .input = bytes_of(asked)}, module);
    CHECK(walk_of(deploy.invoke(1, plan)).sum == sum_of(asked, member, 3));
  }
  CHECK(text_of(deploy.invoke(2, plan_of({}, module))) != digest_of(module));
  // It is not the module that came in, which has no such entry.
  const Error error = error_of([&] {
    (void)maker(crew).invoke(
        1, plan_of({.how = by_forward, .entry = "tour", .input = bytes_of(asked)}, module));
  });
  check_clear(error, ErrorKind::function_error);
  CHECK(error.message().find("tour") != std::string::npos);
  CHECK(crew.formations() == 1);
}

TEST_CASE_FIXTURE(CrewFixture, "a crew that is formed anew makes its modules again") {
  Crew crew = take({.workers = 2});
  const CrewFunction deploy = maker(crew);
  const auto module = test_module("walks_crew");
  const auto asked = bytes_of({.left = 9, .stride = 1});
  const auto plan = plan_of({.how = by_forward, .member = 2, .input = asked}, module);
  for (unsigned formation = 1; formation <= 3; ++formation) {
    CHECK(walk_of(deploy.invoke(1, plan)).sum == sum_of({.left = 9, .stride = 1}, 2, 2));
    const auto pids = crew.pids();
    REQUIRE(pids.size() == 2);
    REQUIRE(::kill(static_cast<pid_t>(pids.at(formation % 2)), SIGKILL) == 0);
    REQUIRE(eventually([&] { return crew.formations() > formation && crew.pids().size() == 2; }));
  }
}

TEST_CASE_FIXTURE(CrewFixture, "many calls make modules at once, and each is answered") {
  Crew crew = take({.workers = 3});
  const CrewFunction deploy = maker(crew);
  const auto module = test_module("walks_crew");
  const auto asked = bytes_of({.left = 5, .stride = 1});
  std::vector<std::future<Reply>> walks;
  for (std::uint32_t i = 0; i < 30; ++i)
    walks.push_back(deploy.async(
        i % 3 + 1,
        plan_of({.how = by_forward, .member = (i + 1) % 3 + 1, .input = asked}, module)));
  for (std::uint32_t i = 0; i < 30; ++i)
    CHECK(walk_of(walks[i].get()).sum == sum_of({.left = 5, .stride = 1}, (i + 1) % 3 + 1, 3));
  CHECK(crew.formations() == 1);
}

TEST_CASE_FIXTURE(CrewFixture, "what is no module fails its call, and harms nobody") {
  Crew crew = take({.workers = 2});
  const CrewFunction deploy = maker(crew);
  const std::vector<std::byte> rubbish(1000, std::byte{7});
  auto cut = test_module("walks_crew");
  cut.resize(cut.size() / 2);
  struct Wrong {
    std::vector<std::byte> module;
    const char* words;
  };
  const std::vector<Wrong> wrongs{{rubbish, "module_rejected"},
                                  {cut, "module_rejected"},
                                  {{}, "has no bytes"},
                                  {test_module("no_entry"), "has no entry"},
                                  {test_module("other_target"), "module_rejected"},
                                  {test_module("undefined_symbols"), "module_rejected"}};
  for (const Wrong& wrong : wrongs) {
    CAPTURE(wrong.words);
    const Error error = error_of([&] { (void)deploy.invoke(1, plan_of({}, wrong.module)); });
    check_clear(error, ErrorKind::function_error);
    CHECK(error.message().find(wrong.words) != std::string::npos);
    CHECK(value_of<std::int32_t>(deploy.invoke(2, plan_of({.how = tolerate}, wrong.module))) ==
          ORCHID_MODULE_REJECTED);
  }
  const Error large = error_of([&] {
    (void)maker(crew, "deploy_zeros").invoke(1, raw_bytes(std::uint64_t{(4U << 20U) + 1}));
  });
  check_clear(large, ErrorKind::function_error);
  CHECK(large.message().find("4 MiB") != std::string::npos);
  CHECK(walk_of(entry(crew, "walk").invoke(1, bytes_of({.left = 3}))).left == 0);
  CHECK(crew.formations() == 1);
}

TEST_CASE_FIXTURE(CrewFixture, "a made module that fails to load ends its call alone") {
  Crew crew = take({.workers = 2});
  const CrewFunction deploy = maker(crew);
  const Error throws =
      error_of([&] { (void)deploy.invoke(1, plan_of({}, test_module("throws_on_load"))); });
  check_clear(throws, ErrorKind::function_error);
  CHECK(throws.message().find("a static initialiser failed") != std::string::npos);
  check_clear(
      error_of([&] { (void)deploy.invoke(1, plan_of({}, test_module("crashes_on_load"))); }),
      ErrorKind::function_crashed);
  check_clear(error_of([&] {
                (void)deploy.invoke(2, plan_of({}, test_module("endless_initialiser")),
                                    {.deadline = milliseconds(300)});
              }),
              ErrorKind::deadline_exceeded);
  CHECK(walk_of(entry(crew, "walk").invoke(2, bytes_of({.left = 3}))).left == 0);
}

TEST_CASE_FIXTURE(CrewFixture, "a digest that nobody has is said so") {
  Crew crew = take({.workers = 2});
  (void)maker(crew);
  const CrewFunction other = maker(crew, "specialise_other");
  const std::string nobody = "sha256:" + std::string(64, '0');
  for (const std::string& base : {nobody, std::string("nonsense"), std::string(200, 'x')}) {
    CAPTURE(base);
    const Error error = error_of([&] { (void)other.invoke(1, std::as_bytes(std::span(base))); });
    check_clear(error, ErrorKind::function_error);
    CHECK((error.message().find("has not loaded that module") != std::string::npos ||
           error.message().find("named by its digest") != std::string::npos));
  }
  CHECK(crew.formations() == 1);
}

TEST_CASE_FIXTURE(CrewFixture,
                  "constants are set in a module that is there, and it is another one") {
  Crew crew = take({.workers = 2});
  const CrewFunction specialise = maker(crew, "specialise_and_go");
  CHECK(value_of<Constants>(maker(crew, "say_constants").invoke(1, "")).answer == 1);
  for (std::uint32_t member = 1; member <= 2; ++member)
    for (const std::uint64_t answer : {std::uint64_t{42}, ~std::uint64_t{0}}) {
      const auto said =
          value_of<Constants>(specialise.invoke(1, constant(member, "answer", raw_bytes(answer))));
      CHECK(said.answer == answer);
      CHECK(said.member == member);
    }
  const std::array<double, 3> shape{1.5, -0.0, 1e300};
  const auto said =
      value_of<Constants>(specialise.invoke(2, constant(1, "shape", raw_bytes(shape))));
  CHECK(said.shape == shape);
  CHECK(said.answer == 1);
  CHECK(value_of<Constants>(maker(crew, "say_constants").invoke(1, "")).answer == 1);
  CHECK(crew.formations() == 1);
}

TEST_CASE_FIXTURE(CrewFixture, "constants that a module does not have are refused, by name") {
  Crew crew = take({.workers = 2});
  const CrewFunction specialise = maker(crew, "specialise_and_go");
  struct Wrong {
    const char* name;
    std::size_t size;
    const char* words;
  };
  for (const Wrong& wrong :
       std::initializer_list<Wrong>{{"nonesuch", 8, "no constant 'nonesuch'"},
                                    {"answer", 4, "has 8 bytes, and is to be set to 4"},
                                    {"answer", 0, "has 8 bytes, and is to be set to 0"},
                                    {"pair", 8, "is no number and no array of numbers"},
                                    {"a b", 8, "no constant has such a name"},
                                    {"shape", 5000, "more than can be set at once"}}) {
    CAPTURE(wrong.name);
    const std::vector<std::byte> value(wrong.size, std::byte{1});
    const Error error =
        error_of([&] { (void)specialise.invoke(1, constant(1, wrong.name, value)); });
    check_clear(error, ErrorKind::function_error);
    CHECK(error.message().find(wrong.words) != std::string::npos);
  }
  const Error twice = error_of([&] { (void)maker(crew, "specialise_twice").invoke(1, ""); });
  check_clear(twice, ErrorKind::function_error);
  CHECK(twice.message().find("was made by a function") != std::string::npos);
  CHECK(crew.formations() == 1);
}

TEST_CASE("a crew has so many modules, and no more") {
  // Each counts as what it took to compile it well, too: that is not what ends it.
  LocalExecutor executor({.programs = PROGRAMS, .spare = 1, .compile_quota = seconds(3600)});
  Crew crew = take_crew(std::make_unique<ExecutorCrews>(executor), {.workers = 2});
  const CrewFunction many = maker(crew, "specialise_many");
  const Error error = error_of([&] {
    (void)many.invoke(1, raw_bytes(std::array<std::uint64_t, 2>{100, 100}),
                      {.deadline = seconds(100)});
  });
  check_clear(error, ErrorKind::function_error);
  CHECK(error.message().find("has 64 modules that its calls have made") != std::string::npos);
  CHECK(walk_of(CrewFixture::entry(crew, "walk").invoke(1, bytes_of({.left = 3}))).left == 0);
}

TEST_CASE("a made module that takes too long to compile fails its call, and nobody waits for it") {
  const auto bomb = make_compile_bomb(700);  // as much as the input of a call of a crew takes
  LocalExecutor executor({.programs = PROGRAMS, .spare = 1, .compile_limit = milliseconds(1500)});
  Crew crew = take_crew(std::make_unique<ExecutorCrews>(executor), {.workers = 2});
  const CrewFunction deploy = maker(crew);
  const CrewFunction walk = CrewFixture::entry(crew, "walk");
  std::future<Reply> bombs =
      deploy.async(1, plan_of({.how = tolerate}, bomb), {.deadline = seconds(60)});
  CHECK(walk_of(walk.invoke(2, bytes_of({.left = 1, .stride = 0}))).left == 0);
  CHECK(value_of<std::int32_t>(bombs.get()) == ORCHID_MODULE_TOO_COSTLY);
  const Error error =
      error_of([&] { (void)deploy.invoke(2, plan_of({}, bomb), {.deadline = seconds(60)}); });
  check_clear(error, ErrorKind::function_error);
  CHECK(error.message().starts_with("compile_limit: "));
  CHECK(walk_of(walk.invoke(1, bytes_of({.left = 3}))).left == 0);
  CHECK(crew.formations() == 1);
}

TEST_CASE("compile time of what functions make has a quota, and what is known costs nothing") {
  LocalExecutor executor({.programs = PROGRAMS, .spare = 1, .compile_quota = milliseconds(1)});
  Crew crew = take_crew(std::make_unique<ExecutorCrews>(executor), {.workers = 2});
  const CrewFunction specialise = maker(crew, "specialise_and_go");
  const auto with = [&](std::uint64_t answer) {
    return value_of<Constants>(specialise.invoke(1, constant(2, "answer", raw_bytes(answer))))
        .answer;
  };
  CHECK(with(5) == 5);  // nobody knows beforehand how long it takes
  const Error error = error_of([&] { (void)with(6); });
  check_clear(error, ErrorKind::function_error);
  CHECK(error.message().find("quota: modules that your functions have made took") !=
        std::string::npos);
  CHECK(error.message().find("try again in") != std::string::npos);
  // To look at much costs time as well, and is refused before that.
  const Error large = error_of(
      [&] { (void)maker(crew, "deploy_zeros").invoke(1, raw_bytes(std::uint64_t{100'000})); });
  check_clear(large, ErrorKind::function_error);
  CHECK(large.message().starts_with("quota: "));
  CHECK(with(5) == 5);
  // Nor is what is known given as often as anybody likes.
  const Error often = error_of([&] {
    (void)maker(crew, "specialise_often")
        .invoke(1, raw_bytes(std::uint64_t{5}), {.deadline = seconds(30)});
  });
  check_clear(often, ErrorKind::function_error);
  CHECK(often.message().starts_with("quota: "));
}

TEST_CASE("a call that is in no crew makes no modules") {
  LocalExecutor executor({.programs = PROGRAMS, .spare = 1});
  WorkerClient client(executor);
  const LaneSlot slot = client.load(std::filesystem::path(FUNCTIONS) / "makes_modules.bc");
  const auto entry = std::ranges::find(slot.entries, "deploy_and_go");
  REQUIRE(entry != slot.entries.end());
  const auto plan = plan_of({}, test_module("walks_crew"));
  const auto reply = client.call(slot, as_text(plan), seconds(10),
                                 static_cast<std::uint16_t>(entry - slot.entries.begin()));
  CHECK(reply.outcome == Outcome::function_error);
  CHECK(reply.output.find("only calls of a crew make modules") != std::string::npos);
}

}  // namespace orchid::tests
