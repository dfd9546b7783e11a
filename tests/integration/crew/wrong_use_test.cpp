// What a function and a program may ask of a crew, and what they are told when it is something
// else.
#include <array>
#include <atomic>
#include <cstdint>
#include <stop_token>
#include <string>

#include "crew_fixture.h"
#include "lane_client/policy.h"
#include "shared_rings.h"

namespace orchid::tests {
namespace {

std::vector<std::byte> wish(std::uint32_t member, std::uint32_t size, std::string_view entry = "") {
  std::vector<std::byte> bytes(2 * sizeof(std::uint32_t));
  std::memcpy(bytes.data(), &member, sizeof(member));
  std::memcpy(bytes.data() + sizeof(member), &size, sizeof(size));
  for (const char letter : entry) bytes.push_back(static_cast<std::byte>(letter));
  return bytes;
}

Error error_of_wish(const CrewFunction& ask, const std::vector<std::byte>& input) {
  return error_of([&] { (void)ask.invoke(1, input); });
}

}  // namespace

TEST_CASE_FIXTURE(CrewFixture, "a crew whose member writes nonsense to the client is replaced") {
  Crew crew = take({.workers = 2});
  const CrewFunction walk = entry(crew, "walk");
  std::byte* const pair = shared_with(2, 2);
  REQUIRE(pair != nullptr);
  auto& ring =
      *reinterpret_cast<transport::CrewRing*>(pair + transport::CrewLayout::direction_bytes);
  CallHeader& answer = ring.entries[0].header;
  answer.version = 77;
  std::atomic_ref<std::uint64_t>(answer.sequence).store(1);
  CHECK(walk_of(walk.invoke(1, bytes_of({.left = 1000}))).left == 0);
  CHECK(eventually([&] { return crew.formations() == 2; }));
  CHECK(walk_of(walk.invoke(2, bytes_of({.left = 1000}))).left == 0);
}

TEST_CASE_FIXTURE(CrewFixture, "a call whose deadline passes behind a long one ends alone") {
  Crew crew = take({.workers = 2});
  const CrewFunction linger = entry(crew, "linger");
  std::stop_source stop;
  std::future<Reply> lingers = linger.async(1, bytes_of({}), {.stop = stop.get_token()});
  CHECK(lingers.wait_for(milliseconds(100)) == std::future_status::timeout);
  check_clear(error_of([&] {
                (void)entry(crew, "walk").invoke(1, bytes_of({}), {.deadline = milliseconds(50)});
              }),
              ErrorKind::deadline_exceeded);
  // Long after it has been given up.
  CHECK(lingers.wait_for(6 * lane_client::answer_grace) == std::future_status::timeout);
  CHECK(crew.formations() == 1);
  stop.request_stop();
  const Error ended = error_of([&] { (void)lingers.get(); });
  check_clear(ended, ErrorKind::cancelled);
  CHECK(ended.attempt() == 1);
  CHECK(walk_of(entry(crew, "walk").invoke(1, bytes_of({.left = 5}))).left == 0);
}

TEST_CASE_FIXTURE(CrewFixture, "a forward to nobody fails the call, and says who is there") {
  Crew crew = take({.workers = 2});
  const CrewFunction ask = entry(crew, "ask");
  const Error beyond = error_of_wish(ask, wish(3, 8));
  check_clear(beyond, ErrorKind::function_error);
  CHECK(beyond.message().find("there is no member 3") != std::string::npos);
  const Error client = error_of_wish(ask, wish(0, 8));
  check_clear(client, ErrorKind::function_error);
  CHECK(client.message().find("member 0 is the client") != std::string::npos);
  const Error nothing = error_of_wish(ask, wish(2, 8, "nonesuch"));
  check_clear(nothing, ErrorKind::function_error);
  CHECK(nothing.message().find("has an entry 'nonesuch'") != std::string::npos);
}

TEST_CASE_FIXTURE(CrewFixture, "a forward with more than the limit fails the call") {
  Crew crew = take({.workers = 2});
  const Error error = error_of_wish(entry(crew, "ask"), wish(2, (64U << 10U) + 1));
  check_clear(error, ErrorKind::limit_exceeded);
  CHECK(error.message().find("over the limit of 64 KiB") != std::string::npos);
  check_clear(error_of([&] { (void)entry(crew, "overflow").invoke(1, wish(1, 1)); }),
              ErrorKind::limit_exceeded);
}

TEST_CASE_FIXTURE(CrewFixture, "a call that goes on for ever ends at its hops") {
  Crew crew = take({.workers = 2});
  const CrewFunction walk = entry(crew, "walk");
  const auto endless = [](std::uint32_t stride) {
    return bytes_of({.left = 1'000'000'000, .stride = stride});
  };
  // To itself as often as a call may at all, and in a circle as often as its caller lets it.
  const std::array<CrewCallOptions, 2> options{CrewCallOptions{}, {.hops = 20'000}};
  for (const std::uint32_t stride : {0U, 1U}) {
    const Error error =
        error_of([&] { (void)walk.invoke(1, endless(stride), options.at(stride)); });
    check_clear(error, ErrorKind::limit_exceeded);
    CHECK(error.message().find("as often as it may") != std::string::npos);
  }
  CHECK(walk_of(walk.invoke(1, bytes_of({.left = 10}), {.hops = 10})).left == 0);
  check_clear(error_of([&] { (void)walk.invoke(1, bytes_of({.left = 11}), {.hops = 10}); }),
              ErrorKind::limit_exceeded);
  CHECK(crew.formations() == 1);
}

TEST_CASE_FIXTURE(CrewFixture, "an entry that fails does not go on") {
  Crew crew = take({.workers = 2});
  const Error error =
      error_of([&] { (void)entry(crew, "waver").invoke(1, bytes_of({.left = 1})); });
  check_clear(error, ErrorKind::function_error);
  CHECK(error.message() == "it has changed its mind");
}

// Whether it succeeds is known at its last step, and before that nobody may see the data.
TEST_CASE_FIXTURE(CrewFixture, "a call that has made data does not go on") {
  Crew crew = take({.workers = 2});
  const Error error =
      error_of([&] { (void)entry(crew, "make_and_go").invoke(1, bytes_of({.left = 1})); });
  check_clear(error, ErrorKind::function_error);
  CHECK(error.message().find("has made data objects") != std::string::npos);
}

TEST_CASE_FIXTURE(CrewFixture, "what is asked of a crew is checked before anything is sent") {
  Crew crew = take({.workers = 2});
  const CrewFunction walk = entry(crew, "walk");
  for (const unsigned member : {0U, 3U})
    check_clear(error_of([&] { (void)walk.invoke(member, bytes_of({})); }), ErrorKind::bad_request);
  check_clear(error_of([&] { (void)walk.invoke(1, bytes_of({}, 64U << 10U)); }),
              ErrorKind::too_large);
  check_clear(error_of([&] { (void)walk.invoke(1, bytes_of({}), {.hops = 1'000'001}); }),
              ErrorKind::bad_request);
  check_clear(error_of([&] { (void)entry(crew, "nonesuch"); }), ErrorKind::not_found);
  check_clear(error_of([&] {
                const std::vector<std::byte> nonsense(100, std::byte{1});
                (void)crew.function(nonsense, "walk");
              }),
              ErrorKind::module_rejected);
  CHECK(walk_of(walk.invoke(1, bytes_of({.left = 3}))).left == 0);
}

TEST_CASE_FIXTURE(CrewFixture, "calls of a crew that was released say so") {
  Crew crew = take({.workers = 2});
  const CrewFunction walk = entry(crew, "walk");
  std::future<Reply> lingers = entry(crew, "linger").async(2, bytes_of({}));
  crew.release();
  check_clear(error_of([&] { (void)lingers.get(); }), ErrorKind::lease_ended);
  check_clear(error_of([&] { (void)walk.invoke(1, bytes_of({})); }), ErrorKind::lease_ended);
}

}  // namespace orchid::tests
