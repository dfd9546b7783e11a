// Atomics of several threads on one number, and whether what they saw can have happened one after
// the other.
#include "atomic_history.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <optional>
#include <random>
#include <thread>

#include "memory_under_test.h"

namespace orchid::test {
namespace {

using Kind = AtomicEvent::Kind;
using transport::MemoryOp;

constexpr unsigned threads = 4;
constexpr unsigned events_of_thread = 12;

/// Nothing: it was not sent. Without an answer it may happen at any time, or never.
std::optional<AtomicEvent> perform(MemoryClient& client, std::atomic<std::uint64_t>& clock,
                                   std::mt19937& random, std::uint64_t& seen) {
  const bool swaps = random() % 2 == 0;
  AtomicEvent event{.kind = swaps ? Kind::swap : Kind::add,
                    .operand = 1 + random() % 3,
                    .expected = seen,
                    .before = std::nullopt,
                    .began = clock++};
  const auto before = client.change({.op = swaps ? MemoryOp::compare_swap : MemoryOp::fetch_add,
                                     .offset = 64,
                                     .operand = event.operand,
                                     .expected = event.expected});
  if (!before && !before.error().may_have_happened) return std::nullopt;
  if (before) event.before = seen = *before;
  event.ended = before ? clock++ : ~std::uint64_t{0};
  return event;
}

/// Several threads at one number. One of them calls `amid` between two of its atomics.
std::vector<AtomicEvent> perform_many(MemoryClient& client, unsigned seed,
                                      const std::function<void()>& amid) {
  std::atomic<std::uint64_t> clock = 0;
  std::vector<std::vector<AtomicEvent>> seen(threads);
  std::vector<std::thread> running;
  for (unsigned thread = 0; thread < threads; ++thread)
    running.emplace_back([&, thread] {
      std::mt19937 random(seed * threads + thread);
      std::uint64_t value = 0;
      for (unsigned i = 0; i < events_of_thread; ++i) {
        if (thread == 0 && i == events_of_thread / 2) amid();
        if (const auto event = perform(client, clock, random, value))
          seen[thread].push_back(*event);
      }
    });
  for (std::thread& one : running) one.join();
  std::vector<AtomicEvent> all;
  for (const auto& own : seen) all.insert(all.end(), own.begin(), own.end());
  return all;
}

std::uint64_t number_in(std::span<const std::byte> bytes) {
  std::uint64_t number = 0;
  std::memcpy(&number, bytes.data(), sizeof(number));
  return number;
}

}  // namespace

TEST_CASE("the checker knows histories that can be from those that cannot") {
  const AtomicEvent first{.operand = 1, .before = 0, .began = 0, .ended = 1};
  const AtomicEvent second{.operand = 1, .before = 1, .began = 2, .ended = 3};
  CHECK(is_linearisable({first, second}, 2));
  CHECK_FALSE(is_linearisable({first, second}, 3));
  AtomicEvent twice = second;
  twice.before = 0;  // it did not see what ended before it began
  CHECK_FALSE(is_linearisable({first, twice}, 2));
  AtomicEvent beside = twice;
  beside.began = 0;
  CHECK_FALSE(is_linearisable({first, beside}, 2));  // both saw 0: one addition is lost
  AtomicEvent silent = second;
  silent.before.reset();
  silent.ended = ~std::uint64_t{0};
  CHECK(is_linearisable({first, silent}, 2));
  CHECK(is_linearisable({first, silent}, 1));
  const AtomicEvent swap{.kind = Kind::swap, .operand = 9, .expected = 1, .before = 1, .began = 2};
  CHECK(is_linearisable({first, swap}, 9));
  CHECK_FALSE(is_linearisable({first, swap}, 1));
  const AtomicEvent failed{
      .kind = Kind::swap, .operand = 9, .expected = 5, .before = 1, .began = 2};
  CHECK(is_linearisable({first, failed}, 1));
}

TEST_CASE("what several threads see of one number can have happened one after the other") {
  ServedMemory memory(4096);
  for (unsigned round = 0; round < 20; ++round) {
    const std::vector<std::byte> zero(8);
    memory.put(64, zero);
    const auto all = perform_many(memory.client(), round, [] {});
    CHECK(all.size() == threads * events_of_thread);
    CHECK(std::ranges::all_of(all,
                              [](const AtomicEvent& event) { return event.before.has_value(); }));
    CHECK(is_linearisable(all, number_in(memory.get(64, 8))));
  }
}

TEST_CASE("atomics whose answers are lost have happened once, or not at all") {
  std::size_t lost = 0;
  for (unsigned round = 0; round < 20; ++round) {
    ServedMemory memory(4096);
    const auto all = perform_many(memory.client(), round, [&] {
      memory.client().end({ErrorCode::unreachable, "the way is lost"});
    });
    memory.leave();
    CHECK(all.size() < threads * events_of_thread);
    CHECK(is_linearisable(all, number_in(memory.bytes().subspan(64, 8))));
    lost += static_cast<std::size_t>(std::ranges::count_if(
        all, [](const AtomicEvent& event) { return !event.before.has_value(); }));
  }
  CHECK(lost > 0);
}

TEST_CASE("additions of many threads are all there at the end") {
  ServedMemory memory(4096);
  std::vector<std::thread> running;
  std::atomic<int> failed = 0;
  for (unsigned thread = 0; thread < threads; ++thread)
    running.emplace_back([&] {
      for (int i = 0; i < 500; ++i)
        if (!memory.client().change({.offset = 8, .operand = 1})) ++failed;
    });
  for (std::thread& one : running) one.join();
  CHECK(failed == 0);
  CHECK(memory.client().change({.offset = 8, .operand = 0}).value() == threads * 500);
}

}  // namespace orchid::test
