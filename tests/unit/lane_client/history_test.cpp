// Random lives of a lane: a model of an executor whose workers answer, lose code, die, fall silent
// and lie, and a driver that does what the state machine says. No I/O, no clock.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <random>
#include <vector>

#include "lane_client/conversation.h"
#include "lane_client/flights.h"

namespace orchid::lane_client {
namespace {

using std::chrono::milliseconds;

struct Call {
  CallHistory history;
  bool at_most_once = false;
  bool cancel_wanted = false;
  MonotonicTime due;
  unsigned outcomes = 0;
  unsigned starts = 0;        // by any worker
  unsigned lost_started = 0;  // of these ended with their worker, evictions apart
};

/// The lane's other end: what it has been sent, in order.
struct Worker {
  struct Sent {
    std::uint64_t request;
    Call* call;
  };
  std::deque<Sent> calls;
  std::uint64_t next_request = 1;
  bool front_started = false;
};

class Life {
 public:
  explicit Life(unsigned seed) : random_(seed), crosses_hosts_(seed % 2 == 0) {
    for (int i = 0; i < 40; ++i) {
      calls_.push_back(std::make_unique<Call>());
      Call& call = *calls_.back();
      call.at_most_once = chance(30);
      call.due = now_ + milliseconds(random_() % 60'000);
      waiting_.push_back(&call);
    }
  }

  void run() {
    for (int step = 0; step < 3'000; ++step) {
      one_step();
      check();
    }
    // In the end the executor goes, and time.
    while (lane_.phase() != LanePhase::dead) {
      now_ = std::max(now_, lane_.is_timed() ? lane_.due() : now_);
      lane_.is_timed() ? obey(lane_.expire(now_)) : die();
    }
    for (Call* call : waiting_) finish(*call);
    waiting_.clear();
    for (const auto& call : calls_) {
      CHECK(call->outcomes == 1);
      CHECK(call->lost_started <= most_attempts);
      if (call->at_most_once) CHECK(call->starts <= 1);
    }
    CHECK(flights_.empty());
  }

 private:
  bool chance(unsigned percent) { return random_() % 100 < percent; }

  void one_step() {
    now_ += milliseconds(random_() % 400);
    switch (random_() % 12) {
      case 0:
        return executor_announces();
      case 1:
      case 2:
      case 3:
        return send();
      case 4:
      case 5:
      case 6:
        return answer();
      case 7:
        return worker_ends();
      case 8:
        if (lane_.is_ready() && chance(30))
          obey(lane_.broken(
              {chance(50) && crosses_hosts_ ? ErrorCode::unreachable : ErrorCode::bad_request,
               "broken"},
              now_));
        return;
      case 9:
        return cancel();
      case 10:
        if (chance(30)) flights_.take_back([this](Call& call) { return put_back(call); });
        return;
      default:
        return obey(lane_.expire(now_));
    }
  }

  void executor_announces() {
    if (lane_.phase() != LanePhase::claiming && lane_.phase() != LanePhase::replacing) return;
    lane_.announced();
    if (chance(20) && crosses_hosts_)
      return obey(lane_.opening_failed({ErrorCode::unreachable, "?"}, now_));
    worker_ = Worker{};
    lane_.opened();
  }
  void send() {
    if (!lane_.is_ready() || waiting_.empty() || flights_.size() == 8) return;
    Call& call = *waiting_.front();
    waiting_.pop_front();
    if (call.cancel_wanted || now_ >= call.due) return finish(call);
    const std::uint64_t request = worker_.next_request++;
    worker_.calls.push_back({request, &call});
    flights_.push(call, request);
  }
  void start_front() {
    if (worker_.calls.empty() || std::exchange(worker_.front_started, true)) return;
    ++worker_.calls.front().call->starts;
  }
  void answer() {
    if (!lane_.is_ready() || worker_.calls.empty()) return;
    const bool has_code = !chance(15);
    if (has_code) start_front();
    CHECK(flights_.front_request() == worker_.calls.front().request);
    if (Call* call = flights_.pop()) {
      CHECK(call == worker_.calls.front().call);
      if (has_code)
        finish(*call);
      else if (runs_again_without_code(call->history))
        (void)wait_again(*call);
      else
        finish(*call);
    }
    worker_.calls.pop_front();
    worker_.front_started = false;
    if (const std::uint64_t request = flights_.take_cancel()) {
      CHECK(request == flights_.front_request());
      CHECK(flights_.take_cancel() == 0);
    }
  }
  void worker_ends() {
    if (!lane_.is_ready() && lane_.phase() != LanePhase::losing) return;
    if (chance(50)) start_front();
    LaneEnded ended{.outcome = chance(30)   ? Outcome::evicted
                               : chance(60) ? Outcome::worker_lost
                                            : Outcome::function_crashed,
                    .replaced_in = milliseconds(random_() % 100)};
    ended.started = worker_.front_started;
    if (ended.started) ended.request = worker_.calls.front().request;
    lane_.ended(now_, ended.replaced_in);
    end_calls(ended);
  }
  void cancel() {
    Call& wanted = *calls_[random_() % calls_.size()];
    if (wanted.outcomes > 0) return;
    wanted.cancel_wanted = true;
    flights_.for_each([&](Call& call) {
      if (&call != &wanted) return;
      call.history.cancelled = true;
      if (flights_.front() == &call) return;
      flights_.drop(call);
      finish(call);
    });
    (void)flights_.take_cancel();
  }
  bool put_back(Call& call) {
    // Its copy in the lane may run as well: a driver takes back only what may run twice.
    if (call.at_most_once) return false;
    --call.history.attempt;
    return wait_again(call);
  }
  bool wait_again(Call& call) {
    waiting_.push_front(&call);
    return true;
  }

  void obey(Step step) {
    if (step == Step::end) return die();
    if (step != Step::replace) return;
    CHECK(lane_.phase() == LanePhase::replacing);
    end_calls({.request = flights_.front_request(), .message = "given up", .started = true});
  }
  void die() {
    lane_.die();
    end_calls({.request = flights_.front_request(), .message = "dead", .started = true});
  }
  void end_calls(const LaneEnded& ended) {
    flights_.end(ended, [&](Call& call, bool named, const LaneEnded& believed) {
      if (named && believed.outcome != Outcome::evicted) ++call.lost_started;
      const unsigned before = call.history.attempt;
      const Verdict verdict = judge(call.history,
                                    {.named = named,
                                     .at_most_once = call.at_most_once,
                                     .deadline_passed = now_ >= call.due,
                                     .answer_may_be_lost = crosses_hosts_},
                                    believed);
      CHECK(call.history.attempt + (named ? 0 : 1) >= before);
      if (named && call.at_most_once) CHECK_FALSE(verdict.runs_again);
      if (verdict.runs_again) CHECK_FALSE(call.history.cancelled);
      if (!verdict.runs_again) CHECK_FALSE(verdict.message.empty());
      verdict.runs_again ? (void)wait_again(call) : finish(call);
    });
    CHECK(flights_.empty());
    CHECK(flights_.front_request() == 0);
    worker_ = Worker{};
  }
  void finish(Call& call) { ++call.outcomes; }

  void check() {
    // Each call is in one place, and is done at most once.
    std::vector<Call*> places(waiting_.begin(), waiting_.end());
    flights_.for_each([&](Call& call) { places.push_back(&call); });
    for (const auto& call : calls_)
      CHECK(call->outcomes + static_cast<unsigned>(std::ranges::count(places, call.get())) == 1);
    if (!lane_.is_ready() && lane_.phase() != LanePhase::losing) CHECK(flights_.empty());
    if (lane_.phase() == LanePhase::losing || lane_.phase() == LanePhase::replacing)
      CHECK(lane_.is_timed());  // nothing is waited for without end
  }

  std::mt19937 random_;
  const bool crosses_hosts_;
  MonotonicTime now_{std::chrono::hours(1)};
  Conversation lane_{now_ + claim_within};
  Flights<Call> flights_;
  Worker worker_;
  std::vector<std::unique_ptr<Call>> calls_;
  std::deque<Call*> waiting_;
};

}  // namespace

TEST_CASE("whatever happens to a lane, each of its calls has exactly one outcome") {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    Life(seed).run();
  }
}

TEST_CASE("a worker that always denies having begun is believed a few times only") {
  Flights<Call> flights;
  Call call;
  unsigned named_times = 0;
  for (unsigned end = 1; end <= most_denials; ++end) {
    flights.push(call, end);
    flights.end({.request = 0, .outcome = Outcome::worker_lost, .message = "it ended"},
                [&](Call& each, bool named, const LaneEnded& believed) {
                  CHECK(&each == &call);
                  CHECK(named == (end == most_denials));
                  CHECK(believed.started == named);
                  named_times += named ? 1 : 0;
                });
  }
  CHECK(named_times == 1);
}

TEST_CASE("those behind the oldest are taken back from the back, so that they wait in order") {
  Flights<Call> flights;
  std::array<Call, 4> calls;
  for (std::uint64_t i = 0; i < calls.size(); ++i) flights.push(calls.at(i), i + 1);
  flights.drop(calls[2]);
  std::vector<const Call*> taken;
  flights.take_back([&](Call& call) {
    taken.push_back(&call);
    return true;
  });
  CHECK(taken == std::vector<const Call*>{&calls[3], &calls[1]});
  CHECK(flights.size() == 4);  // their places stay
  CHECK(flights.pop() == &calls[0]);
  CHECK(flights.take_cancel() == 2);  // a copy that nobody wants holds up what comes
  CHECK(flights.pop() == nullptr);
}

}  // namespace orchid::lane_client
