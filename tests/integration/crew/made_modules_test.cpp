// Modules that calls have made, beside those that the program loads.
#include <array>
#include <chrono>
#include <future>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "crew_fixture.h"
#include "makes_modules.h"
#include "protocol/digest.h"

namespace orchid::tests {
namespace {

std::vector<std::byte> example(std::string_view name) {
  return bytes_of_file(std::filesystem::path(EXAMPLES) / (std::string(name) + ".bc"));
}

std::vector<std::byte> go_on(std::uint32_t member, std::string_view entry) {
  auto input = raw_bytes(member);
  append(input, std::as_bytes(std::span(entry)));
  return input;
}

}  // namespace

TEST_CASE_FIXTURE(CrewFixture, "a program gets a module that a busy member is still to load") {
  Crew crew = take({.workers = 2});
  const CrewFunction deploy = maker(crew);
  const CrewFunction linger = entry(crew, "linger");
  std::stop_source stop;
  auto lingers = linger.async(2, bytes_of({}), {.stop = stop.get_token()});
  const auto module = example("echo");
  CHECK(text_of(deploy.invoke(1, plan_of({}, module))) == digest_of(module));
  auto echo = std::async(std::launch::async, [&] { return crew.function(module, "echo"); });
  (void)echo.wait_for(milliseconds(300));  // member 2 cannot load it meanwhile
  stop.request_stop();
  check_clear(error_of([&] { (void)lingers.get(); }), ErrorKind::cancelled);
  const bool answered = echo.wait_for(seconds(30)) == std::future_status::ready;
  if (!answered) crew.release();  // so that nobody waits for ever
  REQUIRE(answered);
  const CrewFunction function = echo.get();
  for (unsigned member = 1; member <= 2; ++member)
    CHECK(text_of(function.invoke(member, "hello")) == "hello");
}

TEST_CASE_FIXTURE(CrewFixture, "a module that a call has made is the program's as well") {
  Crew crew = take({.workers = 2});
  const CrewFunction deploy = maker(crew);
  const auto module = test_module("makes_modules");
  const auto variant = variant_of(module, 1);
  const std::string digest = text_of(deploy.invoke(1, plan_of({}, variant)));
  CHECK(digest == digest_of(variant));
  const CrewFunction other = maker(crew, "specialise_other");
  const auto base = std::as_bytes(std::span(digest));
  const Error made = error_of([&] { (void)other.invoke(1, base); });
  check_clear(made, ErrorKind::function_error);
  CHECK(made.message().find("was made by a function") != std::string::npos);
  // Now the program has its bytes.
  CHECK(value_of<Constants>(crew.function(variant, "say_constants").invoke(1, "")).answer == 1);
  CHECK(other.invoke(1, base).output.empty());
  CHECK(crew.formations() == 1);
}

TEST_CASE("a module that a call has had fetched can be given other constants") {
  LocalExecutor executor({.programs = PROGRAMS, .spare = 1});
  auto source = std::make_unique<ExecutorCrews>(executor);
  const auto variant = variant_of(test_module("makes_modules"), 1);
  const std::string digest = digest_of(variant);
  source->deploy(digest, variant);
  Crew crew = take_crew(std::move(source), {.workers = 2});
  const CrewFunction go = maker(crew, "go_on");
  CHECK(value_of<Constants>(go.invoke(1, go_on(2, digest + ".say_constants"))).answer == 1);
  const CrewFunction other = maker(crew, "specialise_other");
  CHECK(other.invoke(1, std::as_bytes(std::span(digest))).output.empty());
  CHECK(crew.formations() == 1);
}

TEST_CASE_FIXTURE(CrewFixture, "what a program loads does not drop what its calls have made") {
  Crew crew = take({.workers = 2});
  const CrewFunction specialise = maker(crew, "specialise_only");
  const CrewFunction go = maker(crew, "go_on");
  std::vector<std::string> digests;
  for (const std::uint64_t answer : {100U, 101U, 102U, 103U})
    digests.push_back(text_of(specialise.invoke(1, raw_bytes(answer))));
  const auto echo = example("echo");
  for (std::uint32_t i = 1; i < modules_per_worker; ++i)
    (void)crew.function(variant_of(echo, i), "echo");
  for (std::size_t i = 0; i < digests.size(); ++i)
    for (std::uint32_t member = 1; member <= 2; ++member) {
      const auto said =
          value_of<Constants>(go.invoke(1, go_on(member, digests[i] + ".say_constants")));
      CHECK(said.answer == 100 + i);
      CHECK(said.member == member);
    }
  CHECK(crew.formations() == 1);
}

TEST_CASE("a call may make what the program has loaded, and it stays there") {
  LocalExecutor executor({.programs = PROGRAMS, .spare = 1, .compile_quota = seconds(3600)});
  Crew crew = take_crew(std::make_unique<ExecutorCrews>(executor), {.workers = 2});
  const auto echo = example("echo");
  const CrewFunction loaded = crew.function(echo, "echo");
  const CrewFunction deploy = maker(crew);
  const CrewFunction go = maker(crew, "go_on");
  for (std::uint32_t member = 1; member <= 2; ++member)
    for (int times = 1; times <= 2; ++times)
      CHECK(text_of(deploy.invoke(member, plan_of({}, echo))) == digest_of(echo));
  for (std::uint32_t member = 1; member <= 2; ++member) {
    CHECK(go.invoke(1, go_on(member, digest_of(echo) + ".echo")).output.empty());
    CHECK(text_of(loaded.invoke(member, "hello")) == "hello");
  }
  // It counts as one that a call has made, as its place is kept.
  const Error many = error_of([&] {
    (void)maker(crew, "specialise_many")
        .invoke(1, raw_bytes(std::array<std::uint64_t, 2>{100, 64}), {.deadline = seconds(100)});
  });
  check_clear(many, ErrorKind::function_error);
  CHECK(many.message().find("has 64 modules that its calls have made") != std::string::npos);
  CHECK(crew.formations() == 1);
}

}  // namespace orchid::tests
