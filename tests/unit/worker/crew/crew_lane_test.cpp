// The lanes of two members of a crew, in one process: what is run where and when, and who is told.
#include "crew/crew_lane.h"

#include <doctest/doctest.h>

#include <chrono>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "transport/crew_memory.h"

namespace orchid::executor {
namespace {

using transport::CrewEnd;

constexpr std::uint32_t members = 2;

/// Modules of two members are the same; the client's end is the test's.
struct TwoMembers {
  ModuleTable modules;
  TickRate rate = TickRate::measure();
  transport::CrewWires wires = std::move(*transport::make_crew_wires(members));
  CrewEnd client = end_of(0);
  CrewLane one{end_of(1), {.modules = modules, .rate = rate}};
  CrewLane two{end_of(2), {.modules = modules, .rate = rate}};

  TwoMembers() {
    LoadedModule module{.slot = 0, .generation = 1, .digest = "sha256:00112233445566778899"};
    module.names = {"sum", "visit"};
    module.entries.resize(2);
    modules.insert(std::move(module));
  }
  [[nodiscard]] CrewEnd end_of(std::uint32_t member) const {
    auto end = CrewEnd::attach({.member = member, .members = members}, wires.memory.get());
    REQUIRE(end.has_value());
    for (std::uint32_t peer = 0; peer <= members; ++peer)
      end->set_wake(peer, wires.wake[peer].get());
    return std::move(*end);
  }
  void call_one(std::uint64_t number, std::string_view input, std::uint64_t deadline_ns = 0,
                std::uint32_t hops = 10) {
    CallHeader header;
    header.request_id = number;
    header.deadline_ns = deadline_ns;
    header.entry = 1;
    header.kind = static_cast<std::uint8_t>(RequestKind::call);
    crew::set_module_key(header, crew::module_key("sha256:00112233445566778899"));
    crew::set_hops(header, hops);
    REQUIRE(client.send(header, {.to = 1, .payload = std::as_bytes(std::span(input)), .log = {}})
                .has_value());
  }
  void call_two(std::uint64_t number, std::string_view input) {
    CallHeader header;
    header.request_id = number;
    header.entry = 1;
    header.kind = static_cast<std::uint8_t>(RequestKind::call);
    crew::set_module_key(header, crew::module_key("sha256:00112233445566778899"));
    crew::set_hops(header, 10);
    REQUIRE(client.send(header, {.to = 2, .payload = std::as_bytes(std::span(input)), .log = {}})
                .has_value());
  }
  /// What the client was told last: outcome and payload. Nothing: nothing.
  std::optional<std::pair<Outcome, std::string>> told() {
    auto message = client.receive();
    REQUIRE(message.has_value());
    if (!*message) return std::nullopt;
    std::pair told{static_cast<Outcome>((*message)->header.status),
                   std::string(reinterpret_cast<const char*>((*message)->payload.data()),
                               (*message)->payload.size())};
    client.done();
    return told;
  }
};

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
/// The input of what is to run next at that member; "-": nothing is.
std::string next(CrewLane& lane) {
  const auto request = lane.receive();
  REQUIRE(request.has_value());
  return *request ? text_of((*request)->input) : "-";
}
void answer(CrewLane& lane, std::string_view output) {
  std::byte* room = lane.output(output.size());
  REQUIRE(room != nullptr);
  std::memcpy(room, output.data(), output.size());
  REQUIRE(lane.answer({}).has_value());
}
void spawn(CrewLane& lane, std::initializer_list<std::string_view> children,
           std::chrono::nanoseconds run_time = {}) {
  for (const std::string_view child : children)
    REQUIRE_FALSE(
        lane.spawn({.function = "visit", .input = std::as_bytes(std::span(child))}).has_value());
  constexpr std::string_view state = "state";
  REQUIRE_FALSE(
      lane.then({.function = "sum", .input = std::as_bytes(std::span(state))}).has_value());
  lane.judge_wishes();
  REQUIRE_FALSE(lane.refusal().has_value());
  REQUIRE(lane.goes_on());
  REQUIRE(lane.move_on({.run_time = run_time}).has_value());
}
std::vector<std::string> outputs_of(const CrewLane& lane) {
  std::vector<std::string> outputs;
  for (const AlignedBytes& output : lane.outputs()) outputs.push_back(text_of(output.bytes()));
  return outputs;
}

constexpr std::uint64_t first_call = crew::window_places;

}  // namespace

TEST_CASE_FIXTURE(TwoMembers, "a call that begins again has the answers of its children") {
  call_one(first_call, "root");
  CHECK(next(one) == "root");
  spawn(one, {"a", "b"});
  CHECK(next(one) == "a");
  answer(one, "of a");
  // The crew is lost now; this is what the client finds, and gives to the next one.
  transport::AnswerShelf shelf(client.shelf_to(2));
  unsigned kept = 0;
  transport::AnswerShelf::read(client.shelf_from(1), [&](std::uint64_t call, std::uint64_t key,
                                                         std::span<const std::byte> output) {
    CHECK(call == first_call);
    CHECK(text_of(output) == "of a");
    for (const std::uint64_t to : {5 * first_call, 6 * first_call})
      CHECK(shelf.put(to, key, output, transport::AnswerShelf::WhenFull::stop));
    ++kept;
  });
  CHECK(kept == 1);
  call_two(5 * first_call, "root");
  CHECK(next(two) == "root");
  spawn(two, {"a", "b"});
  CHECK(next(two) == "b");
  answer(two, "of b");
  CHECK(next(two) == "state");
  CHECK(outputs_of(two) == std::vector<std::string>{"of a", "of b"});
  answer(two, "all");
  // Other children than before: none of them is known.
  call_two(6 * first_call, "root");
  CHECK(next(two) == "root");
  spawn(two, {"b", "a"});
  CHECK(next(two) == "b");
  CHECK(next(two) == "a");
}

TEST_CASE_FIXTURE(TwoMembers, "a member that has nothing to do is lent the oldest child") {
  CHECK(next(two) == "-");  // from now on it is hungry
  call_one(first_call, "root");
  CHECK(next(one) == "root");
  CHECK_FALSE(one.is_child());
  spawn(one, {"a", "b", "c"});
  CHECK(next(one) == "a");
  CHECK(one.is_child());
  answer(one, "of a");
  CHECK(next(two) == "c");
  CHECK(two.is_child());
  answer(two, "of c");
  CHECK(next(one) == "b");
  answer(one, std::string(5000, 'b'));
  CHECK(next(one) == "state");
  CHECK_FALSE(one.is_child());
  CHECK(outputs_of(one) == std::vector<std::string>{"of a", std::string(5000, 'b'), "of c"});
  CHECK_FALSE(told().has_value());
  answer(one, "all");
  CHECK(told() == std::pair{Outcome::ok, std::string("all")});
  CHECK(next(one) == "-");
  CHECK(next(two) == "-");
}

TEST_CASE_FIXTURE(TwoMembers, "what was lent is lent on, and its end comes back the same way") {
  CHECK(next(two) == "-");
  call_one(first_call, "root");
  CHECK(next(one) == "root");
  spawn(one, {"a", "b"});
  CHECK(next(one) == "a");
  CHECK(next(two) == "b");
  answer(one, "of a");
  CHECK(next(one) == "-");  // hungry by now
  spawn(two, {"x", "y"});
  CHECK(next(two) == "x");
  CHECK(next(one) == "y");
  answer(one, "of y");
  answer(two, "of x");
  CHECK(next(two) == "state");
  CHECK(outputs_of(two) == std::vector<std::string>{"of x", "of y"});
  answer(two, "of b");
  CHECK(next(one) == "state");
  CHECK(outputs_of(one) == std::vector<std::string>{"of a", "of b"});
  answer(one, "all");
  CHECK(told() == std::pair{Outcome::ok, std::string("all")});
}

TEST_CASE_FIXTURE(TwoMembers, "calls of rings and steps of the book have their turns") {
  call_one(first_call, "root");
  CHECK(next(one) == "root");
  spawn(one, {"a", "b", "c"});
  call_one(first_call + 1, "second");
  call_one(first_call + 2, "third");
  for (const char* expected : {"a", "second", "b", "third", "c", "state"}) {
    CHECK(next(one) == expected);
    answer(one, expected);
  }
  CHECK(next(one) == "-");
}

TEST_CASE_FIXTURE(TwoMembers, "a failure is told when what was lent has ended, and once") {
  CHECK(next(two) == "-");
  call_one(first_call, "root");
  CHECK(next(one) == "root");
  spawn(one, {"a", "b", "c"});
  CHECK(next(one) == "a");
  REQUIRE(one.answer({.outcome = Outcome::function_error, .message = "a is wrong"}).has_value());
  CHECK(next(one) == "-");  // b never runs
  CHECK_FALSE(told().has_value());
  CHECK(next(two) == "-");  // nor does c
  CHECK(next(one) == "-");
  CHECK(told() == std::pair{Outcome::function_error, std::string("a is wrong")});
  CHECK_FALSE(told().has_value());
}

TEST_CASE_FIXTURE(TwoMembers, "children of a call that was cancelled never run") {
  call_one(first_call, "root");
  CHECK(next(one) == "root");
  spawn(one, {"a", "b"});
  client.cancel(first_call);
  CHECK(next(one) == "-");
  CHECK(told()->first == Outcome::cancelled);
}

TEST_CASE_FIXTURE(TwoMembers, "children of a call whose time is up never run") {
  call_one(first_call, "root", 1'000'000);
  CHECK(next(one) == "root");
  spawn(one, {"a", "b"}, std::chrono::nanoseconds(999'999));
  CHECK(next(one) == "-");
  CHECK(told()->first == Outcome::deadline_exceeded);
}

TEST_CASE_FIXTURE(TwoMembers, "each child and each going on has a hop less") {
  call_one(first_call, "root", 0, 1);
  CHECK(next(one) == "root");
  spawn(one, {"a"});
  CHECK(next(one) == "a");
  const auto& refusal = one.spawn({.function = "visit", .input = {}});
  REQUIRE(refusal.has_value());
  CHECK(refusal->outcome == Outcome::limit_exceeded);
  CHECK(refusal->message.find("as often as it may") != std::string::npos);
  // Nothing that it asks for later makes that good.
  CHECK(one.go_on({.member = 2, .entry = "", .input = {}}).has_value());
  CHECK(one.then({.function = "sum", .input = {}}).has_value());
}

TEST_CASE_FIXTURE(TwoMembers, "what one call has spawned is not held against the next one") {
  const std::string large(crew::payload_size.value, 'x');
  constexpr int most = 1023;  // of 64 KiB, and what it goes on with
  for (std::uint64_t number : {first_call, first_call + 1}) {
    call_one(number, "root");
    CHECK(next(one) == "root");
    for (int i = 0; i < most; ++i)
      REQUIRE_FALSE(one.spawn({.function = "visit", .input = std::as_bytes(std::span(large))}));
    // It fails after all, and nothing of them is kept.
    REQUIRE(one.answer({.outcome = Outcome::function_error, .message = "no"}).has_value());
    CHECK(told()->first == Outcome::function_error);
  }
}

TEST_CASE_FIXTURE(TwoMembers, "an end that names another call than was lent is nonsense") {
  CHECK(next(two) == "-");
  call_one(first_call, "root");
  CHECK(next(one) == "root");
  spawn(one, {"a", "b"});
  CHECK(next(one) == "a");  // b has the loan 0
  CrewEnd hostile = end_of(2);
  CallHeader header;
  header.request_id = first_call + 1;
  header.kind = static_cast<std::uint8_t>(crew::MessageKind::child_end);
  header.entry = static_cast<std::uint16_t>(ResponseKind::reply);
  REQUIRE(hostile.send(header, {.to = 1, .loan = 0, .payload = {}, .log = {}}).has_value());
  answer(one, "of a");
  const auto refused = one.receive();
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::bad_request);
}

TEST_CASE_FIXTURE(TwoMembers, "small outputs are aligned as larger ones are") {
  call_one(first_call, "root");
  CHECK(next(one) == "root");
  for (const std::size_t size : {1U, 8U, 64U, 65U, 5000U})
    CHECK(reinterpret_cast<std::uintptr_t>(one.output(size)) % AlignedBytes::alignment == 0);
}

TEST_CASE_FIXTURE(TwoMembers, "the end of a child that was lent to nobody is nonsense") {
  CrewEnd hostile = end_of(2);
  CallHeader header;
  header.request_id = first_call;
  header.kind = static_cast<std::uint8_t>(crew::MessageKind::child_end);
  header.entry = static_cast<std::uint16_t>(ResponseKind::reply);
  REQUIRE(hostile.send(header, {.to = 1, .loan = 3, .payload = {}, .log = {}}).has_value());
  const auto refused = one.receive();
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::bad_request);
  CHECK(refused.error().message.find("member 2 wrote nonsense") != std::string::npos);
}

}  // namespace orchid::executor
