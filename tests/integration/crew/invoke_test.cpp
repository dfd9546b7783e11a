// Entries that have others run in their own place.
#include <future>
#include <string>
#include <vector>

#include "crew_fixture.h"
#include "orchid/function.h"
#include "protocol/digest.h"

namespace orchid::tests {
namespace {

std::filesystem::path module_path() {
  return std::filesystem::path(FUNCTIONS) / "invokes_entries.bc";
}

std::vector<std::byte> wish(std::string_view function, std::span<const std::byte> rest = {}) {
  std::vector<std::byte> bytes(function.size() + 1);
  std::memcpy(bytes.data(), function.data(), function.size());
  bytes.insert(bytes.end(), rest.begin(), rest.end());
  return bytes;
}

template <typename T>
std::vector<std::byte> bytes_of_value(const T& value, std::size_t size = sizeof(T)) {
  std::vector<std::byte> bytes(size, std::byte{3});
  std::memcpy(bytes.data(), &value, sizeof(value));
  return bytes;
}

}  // namespace

TEST_CASE_FIXTURE(CrewFixture, "an entry invokes others, and each result may be the next input") {
  Crew crew = take({.workers = 2});
  const CrewFunction sixteen_times = entry_of(crew, module_path(), "sixteen_times");
  for (const std::size_t size :
       {std::size_t{8}, std::size_t{64}, std::size_t{65}, std::size_t{64} << 10U}) {
    CAPTURE(size);
    const auto input = bytes_of_value(std::uint64_t{5}, size);
    const Reply reply = sixteen_times.invoke(2, input);
    CHECK(value_of<std::uint64_t>(reply) == 80);
    CHECK(reply.output.size() == size);
    CHECK(std::equal(input.begin() + 8, input.end(), reply.output.begin() + 8));
  }
}

TEST_CASE_FIXTURE(CrewFixture, "an entry of another module is invoked by its name or its digest") {
  Crew crew = take({.workers = 2});
  const CrewFunction ask = entry_of(crew, module_path(), "ask_inline");
  const Walk asked{.left = 0, .stride = 1};
  const Error missing = error_of([&] { (void)ask.invoke(1, wish("walk", bytes_of(asked))); });
  check_clear(missing, ErrorKind::function_error);
  CHECK(missing.message().find("has an entry 'walk'") != std::string::npos);
  (void)entry(crew, "walk");  // now all members have its module
  CHECK(walk_of(ask.invoke(2, wish("walk", bytes_of(asked)))).sum == 2);
  const auto module =
      read_file(std::filesystem::path(FUNCTIONS) / "walks_crew.bc", limits::module_size);
  REQUIRE(module.has_value());
  const std::string digest = digest_of(*module);
  CHECK(walk_of(ask.invoke(1, wish(digest + ".walk", bytes_of(asked)))).sum == 1);
  check_clear(error_of([&] { (void)ask.invoke(1, wish("sha256:00.walk", bytes_of(asked))); }),
              ErrorKind::function_error);
}

TEST_CASE_FIXTURE(CrewFixture, "what an invoked entry says becomes the call's error, or nothing") {
  Crew crew = take({.workers = 2});
  const CrewFunction ask = entry_of(crew, module_path(), "ask_inline");
  const CrewFunction tolerate = entry_of(crew, module_path(), "tolerate");
  struct Failing {
    const char* function;
    const char* message;
    std::int32_t status;
  };
  for (const Failing& each : std::initializer_list<Failing>{
           {"says_why", "it has its reasons", ORCHID_ERROR},
           {"says_seven", "'says_seven' returned status 7", 7},
           {"throws", "std::out_of_range: it is too far", ORCHID_ERROR},
           {"answers_too_much", "the output of 'answers_too_much' is over the limit of 64 KiB",
            ORCHID_ERROR},
           {"goes_on", "only the call's own entry can say how it goes on", ORCHID_ERROR},
           {"nonesuch", "has an entry 'nonesuch'", ORCHID_NO_FUNCTION}}) {
    CAPTURE(each.function);
    const Error error = error_of([&] { (void)ask.invoke(1, wish(each.function)); });
    check_clear(error, ErrorKind::function_error);
    CHECK(error.message().find(each.message) != std::string::npos);
    CHECK(value_of<std::int32_t>(tolerate.invoke(1, wish(each.function))) == each.status);
  }
  CHECK(crew.formations() == 1);
}

TEST_CASE_FIXTURE(CrewFixture, "entries invoke each other so deep and no deeper") {
  Crew crew = take({.workers = 2});
  CHECK(value_of<std::uint32_t>(entry_of(crew, module_path(), "deeper").invoke(1, "")) == 33);
  const Error error =
      error_of([&] { (void)entry_of(crew, module_path(), "too_deep").invoke(1, ""); });
  check_clear(error, ErrorKind::function_error);
  CHECK(error.message().find("32 deep") != std::string::npos);
}

TEST_CASE_FIXTURE(CrewFixture, "an invoked entry leaves rounding as it was") {
  Crew crew = take({.workers = 2});
  CHECK(value_of<std::int32_t>(entry_of(crew, module_path(), "stays_as_it_was").invoke(1, "")) ==
        1);
}

TEST_CASE_FIXTURE(CrewFixture,
                  "what an entry has written that left by a jump is not another one's") {
  Crew crew = take({.workers = 2});
  const CrewFunction forgets = entry_of(crew, module_path(), "forgets_the_jump");
  for (int i = 0; i < 3; ++i) CHECK(value_of<std::uint64_t>(forgets.invoke(1, "")) == 0);
  CHECK(crew.formations() == 1);
}

TEST_CASE_FIXTURE(CrewFixture, "an invoked entry asks for leased memory as the call's own does") {
  Crew crew = take({.workers = 2});
  const CrewFunction ask = entry_of(crew, module_path(), "ask_inline");
  const auto direct =
      value_of<std::int32_t>(entry_of(crew, module_path(), "opens_what_is_leased").invoke(1, ""));
  CHECK(direct != ORCHID_OK);
  CHECK(value_of<std::int32_t>(ask.invoke(1, wish("opens_what_is_leased"))) == direct);
}

TEST_CASE_FIXTURE(CrewFixture, "an invoked entry that crashes or lingers ends its call alone") {
  Crew crew = take({.workers = 2});
  const CrewFunction ask = entry_of(crew, module_path(), "ask_inline");
  const CrewFunction walk = entry(crew, "walk");
  check_clear(error_of([&] { (void)ask.invoke(1, wish("crashes")); }), ErrorKind::function_crashed);
  check_clear(
      error_of([&] { (void)ask.invoke(1, wish("linger"), {.deadline = milliseconds(50)}); }),
      ErrorKind::deadline_exceeded);
  std::stop_source stop;
  std::future<Reply> lingers = ask.async(2, wish("linger"), {.stop = stop.get_token()});
  CHECK(lingers.wait_for(milliseconds(20)) == std::future_status::timeout);
  stop.request_stop();
  check_clear(error_of([&] { (void)lingers.get(); }), ErrorKind::cancelled);
  CHECK(walk_of(walk.invoke(1, bytes_of({.left = 3}))).left == 0);
}

}  // namespace orchid::tests
