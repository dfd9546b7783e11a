// Modules that calls make in crews at two executors: members of one get them from the client.
#include <signal.h>
#include <sys/eventfd.h>

#include <array>
#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "crew_fixture.h"
#include "foundation/files.h"
#include "lane_relay.h"
#include "makes_modules.h"
#include "orchid/function.h"
#include "protocol/digest.h"
#include "spread_fixture.h"

namespace orchid::tests {
namespace {

constexpr std::uint32_t near_member = 1;  // of a crew of four, two and two
constexpr std::uint32_t far_member = 4;

std::vector<std::byte> wish(const std::string& function) {
  auto bytes = raw_bytes(std::uint32_t{1});
  append(bytes, std::as_bytes(std::span(function.c_str(), function.size() + 1)));
  append(bytes, std::as_bytes(std::span(std::string_view("hello"))));
  return bytes;
}
CrewFunction bringer(Crew& crew, std::string_view entry) {
  return CrewFixture::entry_of(crew, std::filesystem::path(FUNCTIONS) / "brings_code.bc", entry);
}
std::vector<std::byte> echo_module(std::uint32_t variant) {
  return variant_of(bytes_of_file(std::filesystem::path(EXAMPLES) / "echo.bc"), variant);
}
UniqueFd sealed(std::size_t size) {
  auto file = make_sealed_memory("test", std::vector<std::byte>(size, std::byte{7}));
  REQUIRE(file.has_value());
  return std::move(*file);
}

/// With a relay in front of the first executor.
class RelayFixture : public SpreadFixture {
  std::mutex mutex_;

 public:
  /// Of what is said of modules that calls have made.
  using Change = std::function<void(LaneMessage& message, UniqueFd& file)>;

 private:
  Change change_;  // guarded by mutex_

 public:
  std::atomic<unsigned> cuts = 0;  // so often the client is gone when a call has made something
  LaneRelay relay{first.lane_socket(), [this](LaneMessage& message, std::vector<UniqueFd>& files) {
                    const auto* fetched = std::get_if<LaneFetched>(&message);
                    const bool is_made = std::holds_alternative<LaneMade>(message);
                    if (is_made && cuts > 0 && cuts-- > 0) return LaneRelay::Verdict::ends;
                    const std::lock_guard lock(mutex_);
                    if (change_ && (is_made || (fetched != nullptr && fetched->made)))
                      change_(message, files.at(0));
                    return LaneRelay::Verdict::passes;
                  }};
  [[nodiscard]] Crew take_relayed() { return take({.workers = 4}, false, relay.path()); }
  void set(Change change) {
    const std::lock_guard lock(mutex_);
    change_ = std::move(change);
  }
};

void spoil(std::string& digest) { digest.back() = digest.back() == '0' ? '1' : '0'; }

}  // namespace

TEST_CASE_FIXTURE(SpreadFixture, "a call goes on in a module that it has made, at every executor") {
  for (const bool is_far : {false, true}) {
    CAPTURE(is_far);
    Crew crew = take({.workers = 4}, is_far);
    const CrewFunction deploy = maker(crew);
    std::uint32_t variant = is_far ? 1000 : 0;
    for (const std::uint32_t from : {near_member, far_member})
      for (const std::uint32_t how : {by_forward, by_invoke, by_spawn})
        for (std::uint32_t member = 1; member <= 4; ++member) {
          CAPTURE(ways.at(how));
          CAPTURE(from);
          CAPTURE(member);
          const auto module = variant_of(test_module("walks_crew"), ++variant);
          const bool moves = how == by_forward;
          const Walk walk{.left = moves ? 9U : 0U, .stride = 1};
          const Reply reply = deploy.invoke(
              from, plan_of({.how = how, .member = member, .input = bytes_of(walk)}, module));
          CHECK(walk_of(reply).left == 0);
          if (moves) CHECK(walk_of(reply).sum == sum_of(walk, member, 4));
          if (member > 1 && !moves) break;
        }
    CHECK(crew.formations() == 1);
    CHECK(source->look_ups == 0);
  }
}

TEST_CASE_FIXTURE(SpreadFixture, "what was made at one executor is invoked and spawned at others") {
  Crew crew = take({.workers = 4});
  const CrewFunction deploy = maker(crew);
  std::uint32_t variant = 0;
  for (const std::uint32_t from : {near_member, far_member})
    for (const char* way : {"by_forward", "by_invoke", "by_spawn"}) {
      CAPTURE(from);
      CAPTURE(way);
      const auto module = echo_module(++variant);
      const std::string digest = text_of(deploy.invoke(from, plan_of({}, module)));
      CHECK(digest == digest_of(module));
      for (std::uint32_t member = 1; member <= 4; ++member)
        CHECK(text_of(bringer(crew, way).invoke(member, wish(digest + ".echo"))) == "hello");
    }
  CHECK(crew.formations() == 1);
  CHECK(source->look_ups == 0);  // nobody has deployed it
}

TEST_CASE_FIXTURE(SpreadFixture, "constants that were set at one executor are set at others") {
  Crew crew = take({.workers = 4});
  const CrewFunction specialise = maker(crew, "specialise_and_go");
  for (const std::uint32_t from : {near_member, far_member})
    for (std::uint32_t member = 1; member <= 4; ++member) {
      const std::uint64_t answer = std::uint64_t{100} * from + member;
      const auto said = value_of<Constants>(
          specialise.invoke(from, constant(member, "answer", raw_bytes(answer))));
      CHECK(said.answer == answer);
      CHECK(said.member == member);
    }
  const Error twice = error_of([&] { (void)maker(crew, "specialise_twice").invoke(4, ""); });
  check_clear(twice, ErrorKind::function_error);
  CHECK(twice.message().find("was made by a function") != std::string::npos);
  // A whole module that was made is not: its bytes are at the client.
  const auto module = variant_of(test_module("makes_modules"), 1);
  for (const std::uint32_t from : {near_member, far_member}) {
    const std::string digest = text_of(maker(crew).invoke(from, plan_of({}, module)));
    auto input = raw_bytes(std::uint32_t{5 - from});
    append(input, std::as_bytes(std::span(std::string_view(digest + ".specialise_and_go"))));
    const Error entry = error_of([&] { (void)maker(crew, "go_on").invoke(from, input); });
    check_clear(entry, ErrorKind::bad_request);  // it was reached there, and had no input
  }
  CHECK(crew.formations() == 1);
}

TEST_CASE_FIXTURE(SpreadFixture, "a crew that is formed anew still has what its calls have made") {
  Crew crew = take({.workers = 4, .within = seconds(20)});
  const auto module = echo_module(1);
  const std::string digest = text_of(maker(crew).invoke(near_member, plan_of({}, module)));
  REQUIRE(::kill(static_cast<pid_t>(crew.pids().at(far_member - 1)), SIGKILL) == 0);
  REQUIRE(eventually([&] { return crew.formations() == 2 && crew.pids().size() == 4; }));
  for (const std::uint32_t member : {far_member, near_member})
    CHECK(text_of(bringer(crew, "by_invoke").invoke(member, wish(digest + ".echo"))) == "hello");
  CHECK(source->look_ups == 0);
}

TEST_CASE_FIXTURE(SpreadFixture, "what is no module is kept by nobody, at any executor") {
  Crew crew = take({.workers = 4});
  const CrewFunction deploy = maker(crew);
  for (const std::uint32_t from : {near_member, far_member}) {
    const std::vector<std::byte> rubbish(1000 + from, std::byte{7});
    const Error bad = error_of([&] { (void)deploy.invoke(from, plan_of({}, rubbish)); });
    check_clear(bad, ErrorKind::function_error);
    CHECK(bad.message().find("module_rejected") != std::string::npos);
    const Error large = error_of([&] {
      (void)maker(crew, "deploy_zeros").invoke(from, raw_bytes(std::uint64_t{(4U << 20U) + 1}));
    });
    CHECK(large.message().find("4 MiB") != std::string::npos);
    const Error nobody = error_of([&] {
      (void)bringer(crew, "by_invoke").invoke(5 - from, wish(digest_of(rubbish) + ".echo"));
    });
    CHECK(nobody.message().find("no deployed function has") != std::string::npos);
  }
  CHECK(crew.formations() == 1);
}

TEST_CASE("a crew at several executors has so many modules in all, and no more") {
  SpreadFixture hosts({.compile_quota = seconds(3600)});
  Crew crew = hosts.take({.workers = 2});
  const CrewFunction many = maker(crew, "specialise_many");
  const auto make = [&](unsigned member, std::uint64_t first) {
    (void)many.invoke(member, raw_bytes(std::array<std::uint64_t, 2>{first, 40}),
                      {.deadline = seconds(100)});
  };
  make(1, 100);
  const Error error = error_of([&] { make(2, 200); });
  check_clear(error, ErrorKind::function_error);
  CHECK(error.message().find("has 64 modules that its calls have made") != std::string::npos);
  CHECK(walk_of(CrewFixture::entry(crew, "walk").invoke(2, bytes_of({.left = 3}))).left == 0);
  CHECK(crew.formations() == 1);
}

TEST_CASE("what is made again at another executor counts there") {
  SpreadFixture hosts({.compile_quota = milliseconds(1)});
  Crew crew = hosts.take({.workers = 4});
  const CrewFunction specialise = maker(crew, "specialise_and_go");
  // Each has time for one: what that takes nobody knows beforehand.
  CHECK(value_of<Constants>(
            specialise.invoke(near_member, constant(far_member, "answer", raw_bytes(7ULL))))
            .answer == 7);
  for (const std::uint32_t from : {near_member, far_member}) {
    const Error error =
        error_of([&] { (void)specialise.invoke(from, constant(from, "answer", raw_bytes(8ULL))); });
    check_clear(error, ErrorKind::function_error);
    CHECK(error.message().find("quota: modules that your functions have made took") !=
          std::string::npos);
  }
}

TEST_CASE_FIXTURE(RelayFixture, "a client that sends something else than was made has it refused") {
  Crew crew = take_relayed();
  const CrewFunction deploy = maker(crew);
  const CrewFunction specialise = maker(crew, "specialise_and_go");
  std::uint32_t variant = 0;
  const auto refusal = [&](bool with_constants) {
    ++variant;
    const Error error = error_of([&] {
      if (with_constants)
        (void)specialise.invoke(far_member,
                                constant(near_member, "answer", raw_bytes(std::uint64_t{variant})));
      else
        (void)deploy.invoke(far_member, plan_of({.how = by_forward, .input = bytes_of({})},
                                                variant_of(test_module("walks_crew"), variant)));
    });
    check_clear(error, ErrorKind::function_error);
    return error.message();
  };
  set([](LaneMessage&, UniqueFd& file) { file = sealed(1000); });
  CHECK(refusal(false).find("do not have the announced digest") != std::string::npos);
  CHECK(refusal(true).find("other constants than those") != std::string::npos);
  set([](LaneMessage&, UniqueFd& file) { file = sealed(9000); });
  CHECK(refusal(true).find("larger than 8 KiB") != std::string::npos);
  set([](LaneMessage& said, UniqueFd&) { spoil(std::get<LaneFetched>(said).digest); });
  CHECK(refusal(false).find("do not have the announced digest") != std::string::npos);
  set([](LaneMessage& said, UniqueFd&) { spoil(std::get<LaneFetched>(said).base); });
  CHECK(refusal(true).find("other constants than those") != std::string::npos);
  set([](LaneMessage& said, UniqueFd&) { std::get<LaneFetched>(said).base.clear(); });
  CHECK(refusal(true).find("do not have the announced digest") != std::string::npos);
  CHECK(crew.formations() == 1);
}

TEST_CASE_FIXTURE(RelayFixture, "an executor that sends no module has none kept") {
  Crew crew = take_relayed();
  const CrewFunction deploy = maker(crew);
  std::uint32_t variant = 0;
  const auto refusal = [&] {
    const Error error = error_of([&] {
      (void)deploy.invoke(near_member,
                          plan_of({}, variant_of(test_module("walks_crew"), ++variant)));
    });
    check_clear(error, ErrorKind::function_error);
    return error.message();
  };
  set([](LaneMessage&, UniqueFd& file) { file = sealed((4U << 20U) + 1); });
  CHECK(refusal().find("too_large: larger than 4 MiB") != std::string::npos);
  set([](LaneMessage&, UniqueFd& file) { file = UniqueFd(::eventfd(0, EFD_CLOEXEC)); });
  CHECK(refusal().find("is not a sealed memory file") != std::string::npos);
  CHECK(crew.formations() == 1);
}

TEST_CASE_FIXTURE(RelayFixture,
                  "a call that has made a module when its client is gone begins again") {
  Crew crew = take_relayed();
  cuts = 1;
  const Walk walk{.left = 9, .stride = 1};
  const Reply reply =
      maker(crew).invoke(near_member,
                         plan_of({.how = by_forward, .member = far_member, .input = bytes_of(walk)},
                                 test_module("walks_crew")),
                         {.deadline = seconds(30)});
  CHECK(walk_of(reply).sum == sum_of(walk, far_member, 4));
  CHECK(crew.formations() == 2);
}

}  // namespace orchid::tests
