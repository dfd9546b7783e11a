// Both ends of leased memory in one process: what is read is what was written before, and nothing
// else.
#include <algorithm>
#include <array>
#include <random>
#include <thread>

#include "memory_under_test.h"
#include "ucx/hello.h"
#include "ucx/memory_request.h"

namespace orchid::test {
namespace {

using transport::MemoryOp;
using Step = MemoryClient::Step;

constexpr std::size_t mib = 1UL << 20;

/// A link of our own in place of a client, which may say what none of ours does. What the server
/// ends with.
Failure answer_to(const std::function<void(transport::UcxLink&)>& says) {
  const auto key = new_key();
  std::vector<std::byte> memory(mib);
  auto listener =
      transport::UcxMemoryListener::listen(
          memory_context(), {.address = "127.0.0.1", .key = key, .bytes = ByteCount{mib}})
          .value();
  auto served = std::async(std::launch::async, [&]() -> Result<void> {
    auto server = listener.accept(soon());
    if (!server) return fail(server.error());
    return server->serve(memory, {});
  });
  auto link = transport::connect_link(memory_context(),
                                      {.address = listener.address(),
                                       .magic = transport::memory_magic,
                                       .key = key,
                                       .deadline = soon()},
                                      [](const auto&) -> Result<void> { return {}; });
  REQUIRE_MESSAGE(link.has_value(), link.error().message);
  says(**link);
  for (const auto end = soon(); !(*link)->failure();) {
    REQUIRE(std::chrono::steady_clock::now() < end);
    (*link)->progress();
  }
  const auto result = served.get();
  REQUIRE_FALSE(result.has_value());
  return result.error();
}

transport::Frame frame_of(std::uint64_t number, MemoryOp op, const MemoryRows& rows) {
  transport::Frame frame{.kind = transport::FrameKind::first};
  frame.header = transport::encode({.number = number, .op = op, .rows = rows});
  return frame;
}

std::string fault(MemoryClient& client, const Step& step) {
  const auto done = client.run({&step, 1});
  return done ? "" : done.error().message;
}

}  // namespace

TEST_CASE("new memory is zero, and has what was put into it") {
  ServedMemory memory(8 * mib);
  const auto zeros = memory.get(0, 8 * mib);
  CHECK(std::ranges::all_of(zeros, [](std::byte byte) { return byte == std::byte{}; }));
  for (const std::size_t size : {1UL, 8UL, 63UL, 4096UL, 6 * 1024UL, 6 * 1024 + 1UL, 60 * 1024UL,
                                 mib - 1, mib, mib + 1, 5 * mib + 7}) {
    const auto bytes = bytes_from(size, static_cast<unsigned>(size));
    memory.put(size % 1000, bytes);
    CHECK(are_same(memory.get(size % 1000, size), bytes));
    CHECK(are_same(memory.bytes().subspan(size % 1000, size), bytes));
  }
}

TEST_CASE("the last byte can be used, and nothing beyond it") {
  ServedMemory memory(mib);
  std::array<std::byte, 16> bytes{};
  memory.put(mib - bytes.size(), bytes);
  CHECK(memory.get(mib, 0).empty());
  for (const std::uint64_t offset : {mib - 15, mib, mib + 1, ~std::size_t{0} - 3}) {
    const auto put = fault(memory.client(), {.rows = {offset, 16}, .source = bytes});
    CHECK_MESSAGE(put.find("not within the memory, which has 1048576 bytes") != std::string::npos,
                  put);
    CHECK_FALSE(fault(memory.client(), {.rows = {offset, 16}, .target = bytes}).empty());
    CHECK_FALSE(memory.client().change({.offset = offset, .operand = 1}).has_value());
  }
  CHECK(fault(memory.client(), {.rows = {0, 15}, .source = bytes}) ==
        "16 bytes here do not fit 15 bytes of the memory");
  const auto odd = memory.client().change({.offset = 4, .operand = 1});
  REQUIRE_FALSE(odd.has_value());
  CHECK(odd.error().why.code == ErrorCode::bad_request);
  CHECK_FALSE(odd.error().may_have_happened);
  CHECK(are_same(memory.get(mib - 16, 16), bytes));  // all that was refused has harmed nothing
}

TEST_CASE("of a batch with a step that is wrong nothing is done") {
  ServedMemory memory(mib);
  const auto bytes = bytes_from(100, 1);
  const std::array steps{Step{.rows = {0, 100}, .source = bytes},
                         Step{.rows = {mib - 50, 100}, .source = bytes}};
  CHECK_FALSE(memory.client().run(steps).has_value());
  const auto after = memory.get(0, 100);
  CHECK(std::ranges::all_of(after, [](std::byte byte) { return byte == std::byte{}; }));
}

TEST_CASE("rows are put and read where they belong, whatever their length") {
  ServedMemory memory(8 * mib);
  std::vector<std::byte> expected(8 * mib);
  for (const MemoryRows& rows :
       {MemoryRows{5, 8, 64, 1000}, MemoryRows{0, 1, 2, 100'000}, MemoryRows{7, 4096, 5000, 1000},
        MemoryRows{3, 64 * 1024, 64 * 1024, 20}, MemoryRows{1, 64 * 1024 + 1, 100'000, 30},
        MemoryRows{0, mib + 3, 2 * mib, 3}, MemoryRows{11, 24, 24, 7}}) {
    const auto bytes = bytes_from(rows.bytes(), static_cast<unsigned>(rows.row));
    REQUIRE(fault(memory.client(), {.rows = rows, .source = bytes}).empty());
    for (std::uint64_t row = 0; row < rows.count; ++row)
      std::ranges::copy(
          std::span(bytes).subspan(row * rows.row, rows.row),
          expected.begin() + static_cast<std::ptrdiff_t>(rows.offset + row * rows.stride));
    std::vector<std::byte> read(rows.bytes());
    REQUIRE(fault(memory.client(), {.rows = rows, .target = read}).empty());
    CHECK(are_same(read, bytes));
    REQUIRE(memory.client().fence().has_value());
    CHECK(are_same(memory.bytes(), expected));
  }
}

TEST_CASE("what is asked for behind something else sees it, and does not change it") {
  ServedMemory memory(4 * mib);
  std::mt19937 random(7);
  std::vector<std::byte> model(4 * mib);
  for (int round = 0; round < 30; ++round) {
    struct Planned {
      MemoryRows rows;
      std::vector<std::byte> source;
      std::vector<std::byte> target;
      std::vector<std::byte> expected;
    };
    std::vector<Planned> plan;
    for (int i = 0; i < 40; ++i) {
      const std::size_t size = 1 + random() % (i % 8 == 0 ? mib : 20'000);
      const std::size_t offset = random() % (model.size() - size);
      Planned one{.rows = {offset, size}};
      const auto at = model.begin() + static_cast<std::ptrdiff_t>(offset);
      if (random() % 2 == 0) {
        one.source = bytes_from(size, random());
        std::ranges::copy(one.source, at);
      } else {
        one.target.resize(size);
        one.expected.assign(at, at + static_cast<std::ptrdiff_t>(size));
      }
      plan.push_back(std::move(one));
    }
    std::vector<Step> steps;
    for (Planned& one : plan)
      steps.push_back({.rows = one.rows, .source = one.source, .target = one.target});
    const auto done = memory.client().run(steps);
    REQUIRE_MESSAGE(done.has_value(), done.error().message);
    for (const Planned& one : plan) CHECK(are_same(one.target, one.expected));
  }
  CHECK(are_same(memory.bytes(), model));
}

TEST_CASE("a get that nobody waits for any more writes nothing") {
  ServedMemory memory(8 * mib);
  memory.put(0, bytes_from(8 * mib, 1));
  std::vector<std::byte> target(8 * mib);
  const auto range = memory.client().begin({.rows = {0, 8 * mib}, .target = target});
  REQUIRE(range.has_value());
  memory.client().forget(*range);
  const auto so_far = target;
  REQUIRE(memory.client().fence().has_value());
  CHECK(are_same(target, so_far));
  CHECK(are_same(memory.get(5, 100), memory.bytes().subspan(5, 100)));
}

TEST_CASE("gets in the background arrive, also while other threads ask") {
  ServedMemory memory(4 * mib);
  const auto bytes = bytes_from(4 * mib, 9);
  memory.put(0, bytes);
  std::vector<std::byte> target(4 * mib);
  const auto range = memory.client().begin({.rows = {0, 4 * mib}, .target = target});
  REQUIRE(range.has_value());
  std::vector<std::thread> others;
  std::atomic<int> wrong = 0;
  for (unsigned thread = 0; thread < 4; ++thread)
    others.emplace_back([&, thread] {
      std::array<std::byte, 4096> page{};
      for (unsigned i = 0; i < 200; ++i) {
        const std::size_t offset = (i * 7919UL + thread * 104'729UL) % (4 * mib - page.size());
        const Step step{.rows = {offset, page.size()}, .target = page};
        if (!memory.client().run({&step, 1}) ||
            !are_same(page, std::span(bytes).subspan(offset, page.size())))
          ++wrong;
      }
    });
  REQUIRE(memory.client().finish(*range).has_value());
  CHECK(memory.client().is_finished(*range));
  for (std::thread& other : others) other.join();
  CHECK(wrong == 0);
  CHECK(are_same(target, bytes));
}

TEST_CASE("who ends a client's memory ends what waits for it") {
  ServedMemory memory(mib);
  memory.client().end({ErrorCode::lease_ended, "the lease has expired"});
  std::array<std::byte, 8> bytes{};
  CHECK(fault(memory.client(), {.rows = {0, 8}, .target = bytes}) == "the lease has expired");
  CHECK_FALSE(memory.client().fence().has_value());
  const auto atomic = memory.client().change({.operand = 1});
  REQUIRE_FALSE(atomic.has_value());
  CHECK(atomic.error().why.code == ErrorCode::lease_ended);
  CHECK_FALSE(atomic.error().may_have_happened);  // it was never sent
}

TEST_CASE("a client that asks for what there is not loses its connection, and nothing else") {
  const auto beyond = answer_to([](transport::UcxLink& link) {
    link.send({.frame = frame_of(1, MemoryOp::get, {mib, 8, 8, 1})});
  });
  CHECK(beyond.code == ErrorCode::bad_request);
  CHECK(beyond.message.find("place of a request") != std::string::npos);
  const auto number = answer_to([](transport::UcxLink& link) {
    link.send({.frame = frame_of(2, MemoryOp::get, {0, 8, 8, 1})});
  });
  CHECK(number.message.find("request id") != std::string::npos);
  const std::array<std::byte, 16> bytes{};
  const auto longer = answer_to([&](transport::UcxLink& link) {
    link.send({.frame = frame_of(1, MemoryOp::put, {0, 8, 8, 1}), .payload = bytes});
  });
  CHECK(longer.message.find("length of a piece") != std::string::npos);
  const auto with_get = answer_to([&](transport::UcxLink& link) {
    link.send({.frame = frame_of(1, MemoryOp::get, {0, 16, 16, 1}), .payload = bytes});
  });
  CHECK(with_get.message.find("bytes that belong to nothing") != std::string::npos);
  const auto inside = answer_to([&](transport::UcxLink& link) {
    link.send({.frame = frame_of(1, MemoryOp::put, {0, 32, 32, 1}), .payload = bytes});
    link.send({.frame = frame_of(2, MemoryOp::get, {0, 8, 8, 1})});
  });
  CHECK(inside.message.find("kind of frame") != std::string::npos);
}

TEST_CASE("of requests in one message each is looked at") {
  const std::array<std::byte, 16> bytes{};
  const auto second = answer_to([&](transport::UcxLink& link) {
    link.send_together({.frame = frame_of(1, MemoryOp::put, {0, 16, 16, 1}), .payload = bytes});
    link.send_together({.frame = frame_of(3, MemoryOp::get, {0, 8, 8, 1})});
  });
  CHECK(second.message.find("request id") != std::string::npos);
  const auto last = answer_to([&](transport::UcxLink& link) {
    for (std::uint64_t number = 1; number <= 40; ++number)
      link.send_together({.frame = frame_of(number, MemoryOp::get, {0, 8, 8, 1})});
    link.send_together({.frame = frame_of(41, MemoryOp::get, {mib, 8, 8, 1})});
  });
  CHECK(last.message.find("place of a request") != std::string::npos);
}

TEST_CASE("a batch may have more requests than can be under way, of all sizes") {
  ServedMemory memory(4 * mib);
  constexpr std::size_t count = 1000;
  const auto size_of = [](std::size_t i) {
    return i % 50 == 7 ? 9000UL : i % 3 == 0 ? 1UL : 4096UL;
  };
  std::vector<std::vector<std::byte>> sent;
  std::vector<std::vector<std::byte>> got;
  std::vector<Step> steps;
  for (std::size_t i = 0; i < count; ++i) {
    sent.push_back(bytes_from(size_of(i), static_cast<unsigned>(i)));
    got.emplace_back(size_of(i));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t place = i % 400 * 9000;  // some are put twice
    steps.push_back({.rows = {place, size_of(i)}, .source = sent[i]});
    steps.push_back({.rows = {place, size_of(i)}, .target = got[i]});
  }
  const auto done = memory.client().run(steps);
  REQUIRE_MESSAGE(done.has_value(), done.error().message);
  for (std::size_t i = 0; i < count; ++i) CHECK(are_same(got[i], sent[i]));
}

}  // namespace orchid::test
