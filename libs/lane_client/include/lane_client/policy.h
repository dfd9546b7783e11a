// lane_client/policy.h: how patient a client of a worker is, and whether a call whose worker was
// lost runs again. The one place for these numbers.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "foundation/error_code.h"
#include "protocol/lane_messages.h"
#include "protocol/limits.h"
#include "protocol/outcome.h"

namespace orchid::lane_client {

/// For each connection to another host: one for the conversation, one for the lane.
constexpr std::chrono::seconds connect_within{5};
/// For the answer to a claim of the gateway, which needs a worker now and asks for another one. A
/// lease claims all its workers at once, and waits as long as its user says.
constexpr std::chrono::seconds claim_within{2};
/// For the executor's word on a worker whose lane has broken, or does not come to be: a worker that
/// has died is told of within milliseconds. One of which nothing is heard is replaced.
constexpr std::chrono::seconds explain_within{2};
/// For the last answers of a worker of another host that has ended and says that it has given them.
/// It may have forged that: a thread that drives other lanes, too, gives them less time.
constexpr std::chrono::milliseconds last_answers_within{2000};
constexpr std::chrono::milliseconds last_answers_beside_others{200};
/// For a replacement, from when the executor has begun to make it. One for another host starts a
/// process, loads UCX and is connected to; waiting on costs nothing while the executor lives.
constexpr std::chrono::seconds replace_within{10};
/// So long past its deadline a call in a lane has for the executor's word on its end. Too short a
/// time would end sound workers of a busy host; only calls of one that hangs wait for so long.
constexpr std::chrono::milliseconds answer_grace{500};

/// A lane in which nothing is for so long gives the room of large past payloads back.
constexpr std::chrono::seconds trim_after{1};

/// A load that calls wait for lasts until the last of their deadlines, but at least so long: calls
/// with short deadlines would otherwise end one load of a sound module after the other.
constexpr std::chrono::seconds shortest_load = limits::load_time;

/// Attempts that ended by the platform's fault, evictions apart. A call that kills its workers in a
/// way that looks like ours costs so many of them.
constexpr unsigned most_attempts = 3;
/// Of a module, one after the other, for reasons that have nothing to do with the module.
constexpr unsigned most_failed_loads = 3;
/// Of lanes to another host, one after the other.
constexpr unsigned most_failed_openings = 3;
/// A worker drops the code of a call that is on its way when others have asked for theirs. To one
/// call that happens so often; beyond that the worker talks nonsense.
constexpr unsigned most_code_losses = 3;
/// The same with an object that a call is given, which goes when its owner deletes it.
constexpr unsigned most_data_losses = 3;
/// User code can forge the word that a worker had not begun its call. Of every so many workers that
/// end so before the same call, one is taken to have begun it.
constexpr unsigned most_denials = 4;

/// Calls that last no longer are sent behind others, since their worker would be idle for a good
/// part of that time between an answer and the next call. How long that is depends on the driver. A
/// program takes an answer and sends the next call in 0.24 us (measured by sdk_latency), so that
/// nothing is gained above 20 us. The gateway's thread looks at its lanes once for each round of
/// its event loop, and a request takes it 9 us (http_invoke): 16 connections keep a worker waiting
/// for up to 150 us.
constexpr std::chrono::microseconds short_run_in_program{20};
constexpr std::chrono::microseconds short_run_in_gateway{100};

/// Whether a load that failed so may succeed another time.
[[nodiscard]] bool is_transient(ErrorCode code);
/// Why an opened lane cannot be had for this pair of hosts, however often it is tried.
[[nodiscard]] bool is_futile(ErrorCode code);

/// How long calls of one kind run: an exponentially weighted mean. A value.
class RunTimeEstimate {
 public:
  static constexpr unsigned needed_observations = 3;

  /// What the worker says, and it may say anything.
  void observe(std::chrono::nanoseconds run_time) {
    constexpr int weight = 8;  // a new observation counts one eighth
    run_time = std::clamp<std::chrono::nanoseconds>(run_time, std::chrono::nanoseconds{0},
                                                    std::chrono::hours{24});
    mean_ = observations_ == 0 ? run_time : mean_ + (run_time - mean_) / weight;
    if (observations_ < needed_observations) ++observations_;
  }
  [[nodiscard]] std::chrono::nanoseconds mean() const { return mean_; }
  [[nodiscard]] bool is_known() const { return observations_ >= needed_observations; }

 private:
  std::chrono::nanoseconds mean_{0};
  unsigned observations_ = 0;
};

/// What has become of a call so far.
struct CallHistory {
  unsigned attempt = 0;      // sent so often, apart from when it provably did not start
  unsigned evictions = 0;    // of these ended since the worker's place was taken back
  unsigned code_losses = 0;  // answered with "need code"
  unsigned data_losses = 0;  // answered with "need data"
  unsigned denials = 0;      // its worker ended, and is said not to have begun it
  bool cancelled = false;
};

/// A call whose worker has ended.
struct LostCall {
  bool named = false;  // the executor says that this one was running
  bool at_most_once = false;
  bool repeatable = true;  // false: its input may have changed
  bool deadline_passed = false;
  bool answer_may_be_lost = false;  // the lane led to another host: it may have been answered, too
};
struct Verdict {
  bool runs_again = false;
  Outcome outcome = Outcome::worker_lost;  // else
  std::string_view message;                // of `ended`, or for ever
};
/// What the worker's end means for one of the calls in its lane; counts it. A call that did not
/// start always runs again; else only after what the platform did to it, and not without end:
/// evictions do not count, since whoever takes a place back may do so often.
[[nodiscard]] Verdict judge(CallHistory& call, const LostCall& lost, const LaneEnded& ended);
/// Whether a worker that has ended says that it has answered `unanswered`, the oldest call in its
/// lane (0: none), as it has if it has answered a later one. Then the answer may be on its way: the
/// lane is read to its end.
[[nodiscard]] bool claims_answer(const LaneEnded& ended, std::uint64_t unanswered);
/// For a lane that was read to its end, so that the client knows what was answered: if that is not
/// what the worker says, its function has forged it.
void find_forgery(LaneEnded& ended, std::uint64_t unanswered);
/// Where only what runs in the worker can have done it.
[[nodiscard]] std::string broken_rules(std::string_view what);
/// The worker has no code for it any more. False: too often.
[[nodiscard]] bool runs_again_without_code(CallHistory& call);
/// The worker has not mapped what it is given. False: too often.
[[nodiscard]] bool runs_again_without_data(CallHistory& call);

/// For people, where nobody says more; empty: `ok`.
[[nodiscard]] std::string_view cause_of(Outcome outcome);

}  // namespace orchid::lane_client
