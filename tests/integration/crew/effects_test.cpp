// Modules whose calls may not be repeated: a crew runs them only for calls that are never begun
// again, whichever way they come to them.
#include <signal.h>

#include <future>
#include <string>
#include <vector>

#include "crew_fixture.h"

namespace orchid::tests {
namespace {

CrewCallOptions once() { return {.at_most_once = true}; }

CrewFunction effect(Crew& crew, std::string_view name) {
  return CrewFixture::entry_of(crew, std::filesystem::path(FUNCTIONS) / "has_effects.bc", name);
}

struct Way {
  CrewFunction function;
  std::vector<std::byte> input;
};
std::vector<std::byte> joined(std::vector<std::uint32_t> numbers, std::string_view text) {
  const auto words = std::as_bytes(std::span(numbers));
  std::vector<std::byte> bytes(words.begin(), words.end());
  const auto letters = std::as_bytes(std::span(text));
  bytes.insert(bytes.end(), letters.begin(), letters.end());
  return bytes;
}
/// How a call comes to it: at once, on its way, in a place, and as a child.
std::vector<Way> ways_to(Crew& crew) {
  const std::filesystem::path functions(FUNCTIONS);
  return {{effect(crew, "send_mail"), {}},
          {CrewFixture::entry(crew, "ask"), joined({2, 8}, "send_mail")},
          {CrewFixture::entry_of(crew, functions / "invokes_entries.bc", "ask_inline"),
           joined({}, std::string_view("send_mail\0", 10))},
          {CrewFixture::entry_of(crew, functions / "spawns_children.bc", "tree_with"),
           joined({0}, "send_mail")}};
}

}  // namespace

TEST_CASE_FIXTURE(CrewFixture, "a crew runs no module with effects, unless it is at most once") {
  Crew crew = take({.workers = 2});
  for (const Way& way : ways_to(crew)) {
    CAPTURE(way.function.name());
    const Error error = error_of([&] { (void)way.function.invoke(1, way.input); });
    CHECK((error.kind() == ErrorKind::bad_request || error.kind() == ErrorKind::function_error));
    CHECK(error.message().find("has effects, and a crew may begin a call again") !=
          std::string::npos);
    CHECK(error.message().find("with at_most_once") != std::string::npos);
    CHECK_NOTHROW((void)way.function.invoke(1, way.input, once()));
  }
  CHECK(crew.formations() == 1);
}

TEST_CASE_FIXTURE(CrewFixture, "a lost call with effects is not begun again, and others are") {
  Crew crew = take({.workers = 2});
  const CrewFunction walk = entry(crew, "walk");
  const CrewFunction mail = effect(crew, "mail_for_ever");
  std::future<Reply> lost = mail.async(1, "", once());
  CHECK(lost.wait_for(milliseconds(100)) == std::future_status::timeout);
  std::future<Reply> walks = walk.async(2, bytes_of({.left = 5'000}));
  REQUIRE(::kill(static_cast<pid_t>(crew.pids().at(0)), SIGKILL) == 0);
  const Error error = error_of([&] { (void)lost.get(); });
  check_clear(error, ErrorKind::worker_lost);
  CHECK(error.attempt() == 1);
  CHECK(walk_of(walks.get()).left == 0);
  CHECK(value_of<std::uint64_t>(effect(crew, "send_mail").invoke(2, "", once())) == 2);
}

}  // namespace orchid::tests
