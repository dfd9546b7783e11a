// Clients that call, wait for the answer and call again: the worker that they share is shared.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <random>

#include "dispatch_fakes.h"

namespace orchid::gateway {
namespace {

using std::chrono::microseconds;
using test::Answer;
using test::Bench;
using test::FakeWorker;
using Random = std::mt19937_64;

constexpr std::size_t clients = 8;

struct Client {
  std::string function;
  microseconds run{1};
  std::shared_ptr<Answer> answer = nullptr;
  std::uint64_t calls = 0;
};

/// `rounds` answers of the one worker, on a clock that only its calls move.
void share(Bench& bench, std::array<Client, clients>& all, Random& random, unsigned rounds) {
  FakeWorker& worker = bench.worker_with_short_function("short");
  for (unsigned round = 0; round < rounds; ++round) {
    // Who has got an answer calls again, in any order.
    std::ranges::shuffle(all, random);
    for (Client& client : all) {
      if (client.answer && !client.answer->done) continue;
      if (client.answer) {
        REQUIRE(client.answer->result.outcome == Outcome::ok);
        ++client.calls;
      }
      client.answer = bench.call(client.function, std::to_string(client.run.count()));
    }
    bench.settle();
    const auto input = worker.take();
    REQUIRE_MESSAGE(input.has_value(), "calls wait, and the worker has none");
    const microseconds run(std::stol(*input));
    bench.clock.advance(run);
    worker.answer({.output = *input, .run_time = run});
    bench.settle();
  }
}

/// Everybody has half of a fair share at least: of the calls, or of the worker's time.
void check_shares(const std::array<Client, clients>& all) {
  std::uint64_t calls = 0;
  microseconds time{0};
  for (const Client& client : all) {
    calls += client.calls;
    time += client.run * client.calls;
  }
  for (const Client& client : all) {
    CAPTURE(client.function);
    CAPTURE(client.run.count());
    CAPTURE(client.calls);
    const bool enough_calls = 2 * clients * (client.calls + 1) >= calls;
    const bool enough_time = 2 * clients * (client.run * (client.calls + 1)) >= time;
    CHECK((enough_calls || enough_time));
  }
}

}  // namespace

TEST_CASE("8 blocking clients of one function: none has less than half of its fair share") {
  for (unsigned seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    Bench bench;
    std::array<Client, clients> all;
    for (Client& client : all) client = {.function = "short", .run = microseconds(random() % 300)};
    share(bench, all, random, 400);
    check_shares(all);
  }
}

TEST_CASE("clients of long calls have their share beside clients of short ones") {
  for (unsigned seed = 0; seed < 5; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    Bench bench;
    std::array<Client, clients> all;
    for (std::size_t i = 0; i < clients; ++i)
      all[i] = i % 2 == 0 ? Client{.function = "short", .run = microseconds(1 + random() % 50)}
                          : Client{.function = "long", .run = microseconds(5'000)};
    share(bench, all, random, 4000);
    check_shares(all);
  }
}

}  // namespace orchid::gateway
