#include "lease/call_queue.h"

#include <doctest/doctest.h>

#include <array>
#include <deque>
#include <random>
#include <vector>

namespace orchid::sdk {
namespace {

using std::chrono::nanoseconds;
using Random = std::mt19937_64;

constexpr std::size_t clients = 8;

std::uint64_t below(Random& random, std::uint64_t limit) { return random() % limit; }

struct ModelCall {
  std::size_t client = 0;
  bool at_most_once = false;
  std::size_t code = 0;  // of three modules
};

/// A worker: it runs its calls in order, and its usual run time is learned from them.
struct ModelLane {
  std::deque<ModelCall*> calls;
  nanoseconds takes{0};  // the first of them
  nanoseconds ends{0};   // when it will
  std::array<nanoseconds, 3> usual_runs{nanoseconds(-1), nanoseconds(-1), nanoseconds(-1)};
  std::size_t last_code = 0;  // that was sent
};

/// A lease whose workers and callers are played by hand, on a clock that only moves from one event
/// to the next. Everything that decides is the real code.
class Lease {
 public:
  struct Terms {
    std::size_t lanes = 1;
    std::array<nanoseconds, clients> run{};  // of each client's calls; 0: of any length
  };
  Lease(Terms terms, std::uint64_t seed) : terms_(terms), random_(seed), lanes_(terms.lanes) {
    // Some clients call only at most once, and each has a function of its own.
    for (std::size_t i = 0; i < clients; ++i)
      calls_[i] = {.client = i, .at_most_once = below(random_, 4) == 0, .code = below(random_, 3)};
  }

  /// As blocking callers do: everybody asks, and asks again when there is an answer.
  void run_until(nanoseconds end, bool with_losses) {
    for (ModelCall& call : calls_) ask(call);
    while (now_ < end) {
      check_places();
      ModelLane& lane = next_to_end();
      now_ = std::max(now_, lane.ends);
      if (with_losses && below(random_, 20) == 0)
        lose_worker(lanes_[below(random_, lanes_.size())]);
      else
        answer(lane);
    }
  }
  [[nodiscard]] std::uint64_t answers() const {
    std::uint64_t all = 0;
    for (const std::uint64_t count : answered_) all += count;
    return all;
  }
  [[nodiscard]] std::uint64_t fewest() const {
    return *std::min_element(answered_.begin(), answered_.end());
  }

 private:
  void ask(ModelCall& call) {
    // As LeaseCore::run: straight to an idle worker, if nobody waits.
    if (queue_.size() == 0)
      for (ModelLane& lane : lanes_)
        if (lane.calls.empty()) return send(lane, call);
    queue_.push(call);
    for (ModelLane& lane : lanes_) pump(lane);
  }
  [[nodiscard]] static Turn turn_of(const ModelLane& lane, const ModelCall& call) {
    return turn_behind(
        lane.calls.size(), call.at_most_once,
        {.of_call = lane.usual_runs.at(call.code), .of_last = lane.usual_runs.at(lane.last_code)});
  }
  void pump(ModelLane& lane) {
    while (ModelCall* call =
               queue_.take([&](const ModelCall& each) { return turn_of(lane, each); }))
      send(lane, *call);
  }
  void send(ModelLane& lane, ModelCall& call) {
    lane.calls.push_back(&call);
    lane.last_code = call.code;
    if (lane.calls.size() == 1) start_first(lane);
  }
  void start_first(ModelLane& lane) {
    if (lane.calls.empty()) return;
    const nanoseconds fixed = terms_.run.at(lane.calls.front()->client);
    lane.takes = fixed.count() != 0 ? fixed : any_run();
    lane.ends = now_ + lane.takes;
  }
  nanoseconds any_run() {
    return nanoseconds(1 + below(random_, below(random_, 8) == 0 ? 3'000'000 : 15'000));
  }
  void answer(ModelLane& lane) {
    ModelCall& call = *lane.calls.front();
    lane.calls.pop_front();
    nanoseconds& usual = lane.usual_runs.at(call.code);
    usual = usual.count() < 0 ? lane.takes : (usual * 7 + lane.takes) / 8;
    ++answered_.at(call.client);
    start_first(lane);
    pump(lane);
    ask(call);
  }
  /// All its calls wait again, before all others and in their old order.
  void lose_worker(ModelLane& lane) {
    while (!lane.calls.empty()) {
      queue_.push_front(*lane.calls.back());
      lane.calls.pop_back();
    }
    for (ModelLane& each : lanes_) pump(each);
  }
  ModelLane& next_to_end() {
    ModelLane* next = nullptr;
    for (ModelLane& lane : lanes_)
      if (!lane.calls.empty() && (next == nullptr || lane.ends < next->ends)) next = &lane;
    REQUIRE(next != nullptr);  // else a call was forgotten
    return *next;
  }
  /// Every call is in one place, and no worker stands idle while one waits.
  void check_places() const {
    std::size_t places = queue_.size();
    bool idle = false;
    for (const ModelLane& lane : lanes_) {
      places += lane.calls.size();
      idle = idle || lane.calls.empty();
      REQUIRE(lane.calls.size() <= most_in_lane);
    }
    REQUIRE(places == clients);
    REQUIRE_FALSE((idle && queue_.size() != 0));
  }

  Terms terms_;
  Random random_;
  nanoseconds now_{0};
  std::array<ModelCall, clients> calls_{};
  std::vector<ModelLane> lanes_;
  CallQueue<ModelCall> queue_;
  std::array<std::uint64_t, clients> answered_{};
};

}  // namespace

TEST_CASE("8 blocking clients of one worker: none has less than half of its fair share") {
  for (std::uint64_t seed = 0; seed < 5'000; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    Lease::Terms terms;
    // Some clients' calls take a thousand times as long as others', or change all the time.
    const std::array<std::uint64_t, 3> longest{5'000, 5'000, 2'000'000};
    for (nanoseconds& run : terms.run)
      run = below(random, 5) == 0 ? nanoseconds(0)
                                  : nanoseconds(1 + below(random, longest[below(random, 3)]));
    Lease lease(terms, seed);
    lease.run_until(std::chrono::milliseconds(40), seed % 2 == 0);
    const double fair = static_cast<double>(lease.answers()) / clients;
    REQUIRE(static_cast<double>(lease.fewest() + 1) >= fair / 2);
  }
}

TEST_CASE("with several workers no call is forgotten, and no worker is idle while one waits") {
  for (std::uint64_t seed = 0; seed < 5'000; ++seed) {
    CAPTURE(seed);
    Lease lease({.lanes = 1 + seed % 5}, seed);
    lease.run_until(std::chrono::milliseconds(4), true);
    REQUIRE(lease.answers() > 0);
  }
}

TEST_CASE("a worker has only as many calls at a time as it gets through in 200 us") {
  const auto most = [](nanoseconds run) {
    std::uint64_t depth = 0;
    while (turn_behind(depth, false, {.of_call = run, .of_last = run}) == Turn::now) ++depth;
    return depth;
  };
  CHECK(most(nanoseconds(-1)) == 1);  // not known
  CHECK(most(nanoseconds(0)) == most_in_lane);
  CHECK(most(nanoseconds(100)) == most_in_lane);
  CHECK(most(nanoseconds(10'000)) == 20);
  CHECK(most(nanoseconds(20'000)) == 10);
  CHECK(most(nanoseconds(20'001)) == 1);
  const nanoseconds short_one(100);
  CHECK(turn_behind(1, false, {.of_call = short_one}) == Turn::when_idle);
  CHECK(turn_behind(1, false, {.of_call = short_one, .of_last = nanoseconds(50'000)}) ==
        Turn::when_idle);
  CHECK(turn_behind(1, true, {.of_call = short_one, .of_last = short_one}) == Turn::when_idle);
  CHECK(turn_behind(0, true, {}) == Turn::now);
}

TEST_CASE("calls are taken in their order; one that waits for an idle worker is not overtaken") {
  std::array<ModelCall, 4> calls{};
  for (std::size_t i = 0; i < calls.size(); ++i) calls[i].client = i;
  CallQueue<ModelCall> queue;
  for (ModelCall& call : calls) queue.push(call);
  const auto only_for = [](std::size_t client, Turn others) {
    return [=](const ModelCall& call) { return call.client == client ? Turn::now : others; };
  };
  CHECK(queue.take(only_for(2, Turn::when_idle)) == nullptr);
  CHECK(queue.take(only_for(9, Turn::never)) == nullptr);
  CHECK(queue.take(only_for(2, Turn::never)) == &calls[2]);
  queue.push_front(calls[2]);
  CHECK(queue.remove(calls[0]));
  CHECK_FALSE(queue.remove(calls[0]));
  CHECK(queue.take(only_for(2, Turn::when_idle)) == &calls[2]);
  CHECK(queue.take_all() == std::deque<ModelCall*>{&calls[1], &calls[3]});
  CHECK(queue.size() == 0);
}

}  // namespace orchid::sdk
