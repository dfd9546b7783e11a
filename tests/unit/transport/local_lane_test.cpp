#include "transport/local_lane.h"

#include <doctest/doctest.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace orchid::transport {
namespace {

using namespace std::chrono_literals;

struct Lane {
  LocalLaneClient client;
  LocalLaneWorker worker;
  LaneMemory raw;  // what a hostile end could do
};

Lane make(const LaneGeometry& geometry = {1_MiB, 1_MiB}) {
  auto descriptors = make_lane(geometry).value();
  auto twin = duplicate(descriptors).value();
  auto memory = LaneMemory::map(descriptors.memory.get(), geometry).value();
  return {LocalLaneClient::attach(std::move(descriptors)).value(),
          LocalLaneWorker::attach(std::move(twin)).value(), std::move(memory)};
}

std::vector<std::byte> pattern(std::size_t size, unsigned seed) {
  std::vector<std::byte> bytes(size);
  std::mt19937 random(seed);
  for (auto& b : bytes) b = static_cast<std::byte>(random());
  return bytes;
}

std::uint64_t send(LocalLaneClient& client, std::span<const std::byte> input) {
  return client.send({.slot = 3, .generation = 7, .entry = 1, .deadline = 5s, .input = input})
      .value();
}

void echo(LocalLaneWorker& worker, const LaneWorker::Answer& answer = {}) {
  const auto request = worker.receive().value();
  REQUIRE(request.has_value());
  std::byte* room = worker.output(request->input.size());
  REQUIRE(room != nullptr);
  std::memcpy(room, request->input.data(), request->input.size());
  REQUIRE(worker.answer(answer).has_value());
}

std::string as_text_for_test(std::span<const std::byte> b) {
  return {reinterpret_cast<const char*>(b.data()), b.size()};
}

bool same(std::span<const std::byte> a, std::span<const std::byte> b) {
  return std::ranges::equal(a, b);
}

}  // namespace

TEST_CASE("a client begins anew with another worker when its lane was emptied") {
  auto descriptors = make_lane({1_MiB, 1_MiB}).value();
  auto client = LocalLaneClient::attach(duplicate(descriptors).value()).value();
  const auto large = pattern(100'000, 1);
  for (unsigned life = 0; life < 3; ++life) {
    auto worker = LocalLaneWorker::attach(duplicate(descriptors).value()).value();
    send(client, large);
    send(client, large);
    echo(worker);
    const auto response = client.receive().value();
    REQUIRE(response.has_value());
    CHECK(response->request_id == 1);
    CHECK(same(response->payload, large));
    CHECK(client.in_flight() == 1);  // the worker ends here, and nobody releases anything
    REQUIRE(empty_lane(descriptors).has_value());
    client.restart();
    CHECK(client.in_flight() == 0);
  }
}

TEST_CASE("a call carries its header and its bytes both ways, inline and in the slab") {
  for (const std::size_t size : {0UL, 1UL, 8UL, 64UL, 65UL, 1024UL, 100'000UL}) {
    Lane lane = make();
    const auto input = pattern(size, 1);
    const auto id = send(lane.client, input);
    CHECK(id == 1);
    const auto request = lane.worker.receive().value();
    REQUIRE(request.has_value());
    CHECK(request->header.slot == 3);
    CHECK(request->header.generation == 7);
    CHECK(request->header.entry == 1);
    CHECK(request->header.deadline_ns == 5'000'000'000);
    CHECK(same(request->input, input));
    std::memcpy(lane.worker.output(size), request->input.data(), size);
    REQUIRE(lane.worker.answer({.run_time = 42ns}).has_value());
    const auto response = lane.client.receive().value();
    REQUIRE(response.has_value());
    CHECK(response->request_id == id);
    CHECK(response->outcome == Outcome::ok);
    CHECK(response->run_time == 42ns);
    CHECK(same(response->payload, input));
    lane.client.release(*response);
    CHECK(lane.client.in_flight() == 0);
  }
}

TEST_CASE("an input written in place reaches the worker at the same bytes") {
  Lane lane = make();
  const auto room = lane.client.allocate(5000).value();
  const auto content = pattern(5000, 2);
  std::memcpy(room.data(), content.data(), content.size());
  send(lane.client, room);
  const auto request = lane.worker.receive().value();
  CHECK(same(request->input, content));
  room[17] = std::byte{99};
  CHECK(request->input[17] == std::byte{99});  // one page, two mappings
}

TEST_CASE("the output can grow and keeps what was written") {
  Lane lane = make();
  send(lane.client, {});
  REQUIRE(lane.worker.receive().value().has_value());
  std::memcpy(lane.worker.output(8), "12345678", 8);
  std::byte* larger = lane.worker.output(100'000);
  REQUIRE(larger != nullptr);
  CHECK(std::memcmp(larger, "12345678", 8) == 0);
  CHECK(lane.worker.output(2_MiB .value) == nullptr);
  CHECK(lane.worker.output(5) == larger);
  REQUIRE(lane.worker.answer({}).has_value());
  const auto response = lane.client.receive().value();
  CHECK(as_text_for_test(response->payload) == "12345");
}

TEST_CASE("messages and logs travel with the answer") {
  for (const std::size_t log_size : {1UL, 1000UL, 200'000UL}) {
    Lane lane = make();
    send(lane.client, {});
    REQUIRE(lane.worker.receive().value().has_value());
    const std::string log(log_size, 'x');
    REQUIRE(lane.worker
                .answer({.outcome = Outcome::function_error,
                         .message = "no such thing",
                         .log = log,
                         .log_dropped = 5})
                .has_value());
    const auto response = lane.client.receive().value();
    CHECK(response->outcome == Outcome::function_error);
    CHECK(response->payload_is_message);
    CHECK(as_text_for_test(response->payload) == "no such thing");
    CHECK(response->log == log);
    CHECK(response->log_dropped == 5);
    lane.client.release(*response);
  }
}

TEST_CASE("255 calls may be in flight, and no more until an answer is released") {
  Lane lane = make();
  for (int i = 0; i < 255; ++i) send(lane.client, pattern(8, 1));
  const auto refused = lane.client.send({});
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::no_capacity);
  echo(lane.worker);
  const auto response = lane.client.receive().value();
  CHECK_FALSE(lane.client.send({}).has_value());
  lane.client.release(*response);
  CHECK(lane.client.send({}).has_value());
}

TEST_CASE("a full slab refuses, and takes again what is released, in any order") {
  Lane lane = make({64_KiB, 64_KiB});
  const auto big = pattern(20'000, 3);
  for (int i = 0; i < 3; ++i) send(lane.client, big);
  CHECK(lane.client.send({.input = big}).error().code == ErrorCode::no_capacity);
  CHECK(lane.client.send({.input = pattern(70'000, 1)}).error().code == ErrorCode::too_large);
  std::vector<LaneResponse> held;
  for (int i = 0; i < 3; ++i) {
    echo(lane.worker);
    held.push_back(*lane.client.receive().value());
  }
  send(lane.client, pattern(8, 1));
  REQUIRE(lane.worker.receive().value().has_value());
  CHECK(lane.worker.output(20'000) == nullptr);  // three answers fill the response slab
  REQUIRE(lane.worker.answer({}).has_value());
  for (const int i : {2, 0, 1}) {
    CHECK(same(held[static_cast<std::size_t>(i)].payload, big));
    lane.client.release(held[static_cast<std::size_t>(i)]);
  }
  lane.client.release(*lane.client.receive().value());
  send(lane.client, big);
  echo(lane.worker);
  CHECK(same(lane.client.receive().value()->payload, big));
}

TEST_CASE("room of large answers comes back also after hundreds of small ones") {
  Lane lane = make();
  const auto call = [&](std::size_t size) {
    (void)send(lane.client, pattern(size, 2));
    echo(lane.worker);
    const auto response = lane.client.receive().value();
    REQUIRE(response.has_value());
    CHECK(response->payload.size() == size);
    lane.client.release(*response);
  };
  call(1000);
  for (std::size_t i = 0; i < ring_entries; ++i) call(8);
  for (std::size_t i = 0; i < 2 * ring_entries; ++i) call(1000);
  call(1_MiB .value);
}

TEST_CASE(
    "answers to a client that gives each back stay in one place, where both have it at hand") {
  Lane lane = make();
  const auto call = [&] {
    (void)send(lane.client, pattern(1000, 2));
    echo(lane.worker);
    return lane.client.receive().value().value();
  };
  const LaneResponse first = call();
  lane.client.release(first);
  for (int i = 0; i < 1000; ++i) {
    const LaneResponse next = call();
    REQUIRE(next.payload.data() == first.payload.data());
    lane.client.release(next);
  }
  // What is kept is left alone, also while later ones come and go.
  const LaneResponse kept = call();
  for (int i = 0; i < 100; ++i) {
    const LaneResponse next = call();
    REQUIRE(next.payload.data() != kept.payload.data());
    lane.client.release(next);
  }
  CHECK(same(kept.payload, pattern(1000, 2)));
  lane.client.release(kept);
  lane.client.release(call());
  CHECK(call().payload.data() == first.payload.data());
}

TEST_CASE("what a client says of answers that it holds is taken for no more than that") {
  for (const int said : {0, 1, 2, 3, 200, 255}) {
    Lane lane = make({64_KiB, 64_KiB});
    for (int i = 0; i < 40; ++i) {  // it gives nothing back
      (void)send(lane.client, pattern(1000, 2));
      lane.raw.request_ring()[i].header.held_answers = static_cast<std::uint8_t>(said);
      const auto request = lane.worker.receive().value();
      REQUIRE(request.has_value());
      std::byte* room = lane.worker.output(1000);
      REQUIRE(room != nullptr);
      std::memset(room, i, 1000);
      REQUIRE(lane.worker.answer({}).has_value());
      const auto response = lane.client.receive().value();
      REQUIRE(response.has_value());
      CHECK(response->payload.size() == 1000);
      CHECK(response->payload[999] == std::byte(i));
    }
  }
}

TEST_CASE("random sizes, held answers and wrap-around never mix bytes up") {
  Lane lane = make({256_KiB, 256_KiB});
  std::mt19937 random(12345);
  struct Held {
    LaneResponse response;
    std::vector<std::byte> expected;
  };
  std::vector<std::vector<std::byte>> sent;
  std::vector<Held> held;
  std::size_t answered = 0;
  for (int step = 0; step < 60'000; ++step) {
    const auto action = random() % 4;
    if (action <= 1) {
      auto input = pattern(random() % (action == 0 ? 100 : 9000), random());
      if (lane.client.send({.input = input})) sent.push_back(std::move(input));
    } else if (action == 2 && lane.worker.ready()) {
      const auto request = lane.worker.receive().value();
      std::byte* room = lane.worker.output(request->input.size());
      if (room != nullptr) std::memcpy(room, request->input.data(), request->input.size());
      REQUIRE(
          lane.worker.answer({.outcome = room != nullptr ? Outcome::ok : Outcome::limit_exceeded})
              .has_value());
    } else if (auto response = lane.client.receive().value(); response) {
      held.push_back({*response, std::move(sent[answered++])});
    }
    if (!held.empty() && random() % 2 == 0) {
      const std::size_t pick = random() % held.size();
      if (held[pick].response.outcome == Outcome::ok)
        REQUIRE(same(held[pick].response.payload, held[pick].expected));
      lane.client.release(held[pick].response);
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(pick));
    }
  }
  CHECK(answered > 5'000);
}

TEST_CASE("a stream is a conversation of entries, each answered once and in its order") {
  Lane lane = make();
  const auto first = lane.client.send({.slot = 3, .generation = 7, .flags = flag_stream}).value();
  const auto content = pattern(5000, 1);
  CHECK(lane.client.send({.input = content, .kind = RequestKind::more}).value() == first + 1);
  CHECK(lane.client.send({.kind = RequestKind::more, .flags = flag_last}).value() == first + 2);
  CHECK(lane.client.send({.kind = RequestKind::stop}).value() == first + 3);

  const auto begun = lane.worker.receive().value();
  REQUIRE(begun.has_value());
  CHECK(begun->header.flags == flag_stream);
  CHECK(begun->header.slot == 3);
  std::memcpy(lane.worker.output(4), "head", 4);
  REQUIRE(lane.worker.answer({.kind = ResponseKind::chunk}).has_value());
  const auto second = lane.worker.receive().value();
  REQUIRE(second.has_value());
  CHECK(second->header.kind == static_cast<std::uint8_t>(RequestKind::more));
  CHECK(same(second->input, content));
  REQUIRE(lane.worker.answer({.kind = ResponseKind::chunk}).has_value());
  const auto last = lane.worker.receive().value();
  REQUIRE(last.has_value());
  CHECK(last->header.flags == flag_last);
  REQUIRE(lane.worker.answer({.run_time = 5ns, .log = "said"}).has_value());
  REQUIRE(lane.worker.receive().value().has_value());
  REQUIRE(lane.worker.answer({.kind = ResponseKind::discarded}).has_value());

  for (const ResponseKind kind :
       {ResponseKind::chunk, ResponseKind::chunk, ResponseKind::reply, ResponseKind::discarded}) {
    const auto response = lane.client.receive().value();
    REQUIRE(response.has_value());
    CHECK(response->kind == kind);
    CHECK((response->log == "said") == (kind == ResponseKind::reply));
    lane.client.release(*response);
  }
  CHECK(lane.client.in_flight() == 0);
}

TEST_CASE("only what belongs to a stream may be answered by a chunk") {
  for (const ResponseKind kind : {ResponseKind::chunk, ResponseKind::discarded}) {
    Lane lane = make();
    send(lane.client, {});
    REQUIRE(lane.worker.receive().value().has_value());
    REQUIRE(lane.worker.answer({.kind = kind}).has_value());
    CHECK(lane.client.receive().error().code == ErrorCode::bad_request);
  }
}

TEST_CASE("a call with data says so, and is answered by what it lacks") {
  Lane lane = make();
  const auto id = lane.client.send({.slot = 3, .generation = 7, .flags = flag_data}).value();
  const auto request = lane.worker.receive().value();
  REQUIRE(request.has_value());
  CHECK(request->header.flags == flag_data);
  REQUIRE(lane.worker.answer({.kind = ResponseKind::need_data}));
  const auto response = lane.client.receive().value();
  REQUIRE(response.has_value());
  CHECK(response->request_id == id);
  CHECK(response->kind == ResponseKind::need_data);
}

TEST_CASE("a request of an unknown kind, or with flags that it cannot have, ends the lane") {
  const auto spoil = [](auto change) {
    Lane lane = make();
    send(lane.client, {});
    change(lane.raw.request_ring()[0].header);
    CHECK(lane.worker.receive().error().code == ErrorCode::bad_request);
  };
  spoil([](CallHeader& h) { h.kind = 0; });
  spoil([](CallHeader& h) { h.kind = 4; });
  spoil([](CallHeader& h) { h.flags = flag_log; });
  spoil([](CallHeader& h) { h.flags = flag_last; });
  spoil([](CallHeader& h) { h.flags = flag_data | flag_stream; });
  spoil([](CallHeader& h) { h.flags = 32; });
  spoil([](CallHeader& h) {
    h.kind = static_cast<std::uint8_t>(RequestKind::more);
    h.flags = flag_data;
  });
  spoil([](CallHeader& h) {
    h.kind = static_cast<std::uint8_t>(RequestKind::more);
    h.flags = flag_stream;
  });
}

TEST_CASE("nonsense in shared memory ends the lane and never reaches outside of it") {
  SUBCASE("payload beyond the response slab") {
    Lane lane = make();
    send(lane.client, {});
    echo(lane.worker);
    lane.raw.response_ring()[0].header.payload_offset = 1_MiB .value - 10;
    lane.raw.response_ring()[0].header.payload_length = 11;
    CHECK(lane.client.receive().error().code == ErrorCode::bad_request);
  }
  SUBCASE("length that overflows") {
    Lane lane = make();
    send(lane.client, {});
    echo(lane.worker);
    lane.raw.response_ring()[0].header.payload_offset = 64;
    lane.raw.response_ring()[0].header.payload_length = ~0ULL - 10;
    CHECK(lane.client.receive().error().code == ErrorCode::bad_request);
  }
  SUBCASE("inline length, wrong id, unknown outcome, log without room") {
    const auto spoil = [](auto change) {
      Lane lane = make();
      send(lane.client, {});
      echo(lane.worker);
      change(lane.raw.response_ring()[0].header);
      CHECK(lane.client.receive().error().code == ErrorCode::bad_request);
    };
    spoil([](CallHeader& h) { h.payload_length = 65; });
    spoil([](CallHeader& h) { h.request_id = 9; });
    spoil([](CallHeader& h) { h.status = 200; });
    spoil([](CallHeader& h) { h.kind = 9; });
    spoil([](CallHeader& h) { h.flags = flag_log; });
  }
  SUBCASE("a request beyond the request slab") {
    Lane lane = make();
    send(lane.client, pattern(100, 1));
    lane.raw.request_ring()[0].header.payload_length = 2_MiB .value;
    CHECK(lane.worker.receive().error().code == ErrorCode::bad_request);
  }
  SUBCASE("random headers") {
    std::mt19937_64 random(7);
    for (int i = 0; i < 2'000; ++i) {
      Lane lane = make({64_KiB, 64_KiB});
      CallHeader header;
      header.slot = static_cast<std::uint32_t>(random());
      header.payload_length = random() >> (random() % 64);
      header.payload_offset = random() >> (random() % 64);
      header.kind = static_cast<std::uint8_t>(random());
      header.held_answers = static_cast<std::uint8_t>(random());
      header.request_id = 1;
      header.sequence = 1;
      lane.raw.request_ring()[0].header = header;
      const auto request = lane.worker.receive();
      if (!request || !*request) continue;
      volatile unsigned sum = 0;  // accepted: all of it is readable
      for (const std::byte b : (*request)->input) sum = sum + std::to_integer<unsigned>(b);
    }
  }
}

TEST_CASE(
    "a sleeper is woken by what comes after its announcement, and does not sleep over what came "
    "before") {
  Lane lane = make();
  REQUIRE(lane.worker.prepare_to_sleep());
  std::thread caller([&] { send(lane.client, {}); });
  pollfd wait{lane.worker.wake_descriptor(), POLLIN, 0};
  CHECK(::poll(&wait, 1, 10'000) == 1);
  caller.join();
  lane.worker.finish_sleep();
  CHECK(::poll(&wait, 1, 0) == 0);  // drained
  CHECK_FALSE(lane.worker.prepare_to_sleep());
}

TEST_CASE("an eventfd that the other process has filled costs the lane, and lets nobody spin") {
  constexpr std::uint64_t all = ~std::uint64_t{0} - 1;
  const auto sleeps_until_quiet = [](auto& end) {
    for (int sleeps = 0; sleeps < 100; ++sleeps) {
      REQUIRE(end.prepare_to_sleep());
      pollfd wait{end.wake_descriptor(), POLLIN, 0};
      if (::poll(&wait, 1, 0) == 0) return sleeps;
      end.finish_sleep();
    }
    return -1;
  };
  Lane lane = make();
  REQUIRE(::write(lane.worker.wake_descriptor(), &all, sizeof(all)) == sizeof(all));
  CHECK(sleeps_until_quiet(lane.worker) > 0);
  CHECK_FALSE(lane.worker.receive().has_value());

  Lane other = make();
  send(other.client, {});
  REQUIRE(::write(other.client.wake_descriptor(), &all, sizeof(all)) == sizeof(all));
  CHECK(sleeps_until_quiet(other.client) > 0);
  CHECK_FALSE(other.client.receive().has_value());
}

TEST_CASE("a wake that comes late is drained, and means nothing") {
  Lane lane = make();
  constexpr std::uint64_t one = 1;
  REQUIRE(::write(lane.worker.wake_descriptor(), &one, sizeof(one)) == sizeof(one));
  bool quiet = false;
  for (int sleeps = 0; !quiet && sleeps < 100; ++sleeps) {
    REQUIRE(lane.worker.prepare_to_sleep());
    pollfd wait{lane.worker.wake_descriptor(), POLLIN, 0};
    quiet = ::poll(&wait, 1, 0) == 0;
    lane.worker.finish_sleep();
  }
  CHECK(quiet);
  CHECK(lane.worker.receive().has_value());
}

TEST_CASE("the memory file cannot be shrunk under its reader") {
  auto lane = make_lane({64_KiB, 64_KiB}).value();
  CHECK(::ftruncate(lane.memory.get(), 0) != 0);
}

}  // namespace orchid::transport
