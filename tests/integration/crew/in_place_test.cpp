// Calls whose input is written to where the member reads it.
#include "in_place.h"

#include <signal.h>

#include <atomic>
#include <future>
#include <stdexcept>
#include <string>

#include "crew_fixture.h"
#include "spread_fixture.h"

ORCHID_DECLARE_ENTRY(sum_multiples)
ORCHID_DECLARE_ENTRY(sum_plain)
ORCHID_DECLARE_ENTRY(too_much)
ORCHID_DECLARE_ENTRY(stay)
ORCHID_DECLARE_SOURCE(sum_multiples)
ORCHID_DECLARE_SOURCE(sum_plain)
ORCHID_DECLARE_SOURCE(too_much)

namespace orchid::tests {
namespace {

std::span<const std::byte> bytes_in(const in_place::Multiples& asked) {
  return std::as_bytes(std::span(&asked, 1));
}

}  // namespace

TEST_CASE_FIXTURE(CrewFixture, "the source's part of a function builds its input in place") {
  Crew crew = take({.workers = 3});
  const CrewFunction sum = crew.function(orchid_embedded_sum_multiples);
  for (unsigned member = 1; member <= 3; ++member)
    for (const std::uint64_t count : {0U, 1U, 7U, 1000U, 8192U}) {
      const in_place::Multiples asked{.count = count, .factor = member};
      const Reply reply =
          crew.member(member).invoke_in_place(sum, orchid_source_sum_multiples, bytes_in(asked));
      CHECK(value_of<std::uint64_t>(reply) == member * count * (count - 1) / 2);
    }
  const in_place::Multiples large{.count = 8193};
  check_clear(error_of([&] {
                (void)crew.member(1).invoke_in_place(sum, orchid_source_sum_multiples,
                                                     bytes_in(large));
              }),
              ErrorKind::too_large);
  // Its part does not understand this: the call has not begun.
  check_clear(error_of([&] {
                (void)crew.member(1).invoke_in_place(sum, orchid_source_sum_multiples,
                                                     bytes_in({}).first(3));
              }),
              ErrorKind::bad_request);
}

TEST_CASE_FIXTURE(CrewFixture, "without a part of the source's the input is what is handed over") {
  Crew crew = take({.workers = 2});
  CHECK((orchid_source_sum_plain.size == nullptr));
  CHECK((orchid_source_sum_plain.fill == nullptr));
  const CrewFunction sum = crew.function(orchid_embedded_sum_plain);
  std::vector<std::uint64_t> values(8192, 3);
  const auto source = std::as_bytes(std::span(values));
  CHECK(value_of<std::uint64_t>(
            crew.member(2).invoke_in_place(sum, orchid_source_sum_plain, source)) == 3 * 8192);
  CHECK(value_of<std::uint64_t>(crew.member(2).invoke_in_place(sum, orchid_source_sum_plain, {})) ==
        0);
  values.push_back(1);
  check_clear(error_of([&] {
                (void)crew.member(2).invoke_in_place(sum, orchid_source_sum_plain,
                                                     std::as_bytes(std::span(values)));
              }),
              ErrorKind::too_large);
}

TEST_CASE_FIXTURE(CrewFixture,
                  "a program may write the input by itself, and what it throws comes") {
  Crew crew = take({.workers = 2});
  const CrewFunction sum = crew.function(orchid_embedded_sum_plain);
  const Reply reply = crew.member(1).invoke_in_place(sum, [](std::span<std::byte> room) {
    CHECK(room.size() == 65536);
    CHECK(reinterpret_cast<std::uintptr_t>(room.data()) % 64 == 0);
    for (std::uint64_t i = 0; i < 100; ++i) std::memcpy(room.data() + i * sizeof(i), &i, sizeof(i));
    return 100 * sizeof(std::uint64_t);
  });
  CHECK(value_of<std::uint64_t>(reply) == 4950);
  CHECK_THROWS_WITH_AS(
      (void)crew.member(1).invoke_in_place(
          sum, [](std::span<std::byte>) -> std::size_t { throw std::range_error("its own"); }),
      "its own", std::range_error);
  CHECK(value_of<std::uint64_t>(sum.invoke(1, "")) == 0);
}

TEST_CASE_FIXTURE(CrewFixture, "wrong use of calls in place is told") {
  Crew crew = take({.workers = 2});
  const CrewFunction too_much = crew.function(orchid_embedded_too_much);
  check_clear(
      error_of([&] { (void)crew.member(1).invoke_in_place(too_much, orchid_source_too_much, {}); }),
      ErrorKind::bad_request);
  check_clear(error_of([&] { (void)crew.member(0); }), ErrorKind::bad_request);
  check_clear(error_of([&] { (void)crew.member(3); }), ErrorKind::bad_request);
  Crew other = take({.workers = 2});
  const CrewFunction others = other.function(orchid_embedded_sum_plain);
  check_clear(
      error_of([&] { (void)crew.member(1).invoke_in_place(others, orchid_source_sum_plain, {}); }),
      ErrorKind::bad_request);
}

/// Of a call that stays at `member` while one member after the other is lost, so often.
void check_is_built_again(Crew& crew, unsigned member, unsigned losses) {
  const CrewFunction stay = crew.function(orchid_embedded_stay);
  std::atomic<unsigned> built = 0;
  std::stop_source stop;
  auto stays = std::async(std::launch::async, [&] {
    return error_of([&] {
      (void)crew.member(member).invoke_in_place(stay,
                                                [&](std::span<std::byte>) {
                                                  ++built;
                                                  return std::size_t{0};
                                                },
                                                {.stop = stop.get_token()});
    });
  });
  for (unsigned loss = 1; loss <= losses; ++loss) {
    REQUIRE(eventually([&] { return built == loss; }));
    REQUIRE(::kill(static_cast<pid_t>(crew.pids().at(loss - 1)), SIGKILL) == 0);
  }
  CHECK(eventually([&] { return built == losses + 1; }));
  stop.request_stop();
  check_clear(stays.get(), ErrorKind::cancelled);
  CHECK(crew.formations() == losses + 1);
}

TEST_CASE_FIXTURE(CrewFixture, "the input of a call that begins again is built again") {
  Crew crew = take({.workers = 2});
  check_is_built_again(crew, 1, 1);
}

TEST_CASE_FIXTURE(SpreadFixture,
                  "members at other executors are given input that is built in place") {
  for (const bool is_far : {false, true}) {
    CAPTURE(is_far);
    Crew crew = take({.workers = 4}, is_far);
    const CrewFunction sum = crew.function(orchid_embedded_sum_multiples);
    const CrewFunction plain = crew.function(orchid_embedded_sum_plain);
    const CrewFunction too_much = crew.function(orchid_embedded_too_much);
    const std::vector<std::uint64_t> values(8192, 3);
    for (unsigned member = 1; member <= 4; ++member) {
      CAPTURE(member);
      for (const std::uint64_t count : {0U, 1U, 8U, 9U, 1000U, 8192U}) {
        const in_place::Multiples asked{.count = count, .factor = member};
        const Reply reply =
            crew.member(member).invoke_in_place(sum, orchid_source_sum_multiples, bytes_in(asked));
        CHECK(value_of<std::uint64_t>(reply) == member * count * (count - 1) / 2);
      }
      CHECK(value_of<std::uint64_t>(crew.member(member).invoke_in_place(
                plain, orchid_source_sum_plain, std::as_bytes(std::span(values)))) == 3 * 8192);
      // None of these calls has begun.
      check_clear(error_of([&] {
                    (void)crew.member(member).invoke_in_place(sum, orchid_source_sum_multiples,
                                                              bytes_in({.count = 8193}));
                  }),
                  ErrorKind::too_large);
      check_clear(error_of([&] {
                    (void)crew.member(member).invoke_in_place(too_much, orchid_source_too_much, {});
                  }),
                  ErrorKind::bad_request);
      CHECK_THROWS_AS(
          (void)crew.member(member).invoke_in_place(
              plain, [](std::span<std::byte>) -> std::size_t { throw std::range_error("no"); }),
          std::range_error);
      CHECK(value_of<std::uint64_t>(plain.invoke(member, "")) == 0);
    }
    CHECK(crew.formations() == 1);
  }
}

TEST_CASE_FIXTURE(SpreadFixture, "input in place is built again when a member elsewhere is lost") {
  Crew crew = take({.workers = 2});
  check_is_built_again(crew, 2, 2);
}

}  // namespace orchid::tests
