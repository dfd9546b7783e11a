// dispatcher/dispatch_policy.h: a dispatcher's decisions: which worker gets a call, when a module
// is loaded where, and how many workers are wanted. Plain functions over plain data.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

#include "lane_client/policy.h"

namespace orchid::gateway {

/// Waiting behind others in a lane costs such a call less than another worker does.
[[nodiscard]] inline bool is_short(const lane_client::RunTimeEstimate& run) {
  return run.is_known() && run.mean() < lane_client::short_run_in_gateway;
}

/// A worker as the choice sees it.
struct LaneView {
  bool usable = false;         // it takes calls
  bool loaded = false;         // it has the call's module
  bool loading = false;        // it has been told of the module
  bool loading_other = false;  // of another one
  bool promised = false;       // to that one: the modules share the worker
  bool may_load = false;       // its executor answers
  bool clear = true;           // none of its answers is still being sent to a client
  bool flows = true;           // all calls in it are short, and the running one is not overdue
  bool awaited = false;        // another call has waited long enough for it to be idle
  bool soon =
      false;  // loaded, and free for this module as soon as short calls of others have ended
  unsigned in_flight = 0;
  std::chrono::nanoseconds backlog{0};  // expected time until it is idle
};

struct CallView {
  bool is_short = false;
  bool needs_clear_lane = false;
  std::size_t waiting = 1;  // calls of the same module that wait, this one included
};

struct Choice {
  enum class Kind : std::uint8_t { send, load, wait };
  Kind kind = Kind::wait;
  std::size_t lane = 0;
};

constexpr unsigned deepest_pipeline = 16;
constexpr std::chrono::nanoseconds comfortable_backlog{100'000};
/// A long call usually has a worker of its own by then. If not, short calls let the next one become
/// idle for it: with clients that call again and again it never would.
constexpr std::chrono::milliseconds patience_with_short_calls{10};
/// Of a call whose module sleeps at a place, while short calls of another module follow each other
/// there: long enough to spare most switches, short enough for its caller.
constexpr std::chrono::milliseconds patience_with_another_module{1};

/// `load`: announce the module there, then choose again. Only short calls are sent behind others; a
/// long one waits for an idle worker.
[[nodiscard]] Choice choose_lane(std::span<const LaneView> lanes, const CallView& call);

struct Demand {
  std::size_t long_calls = 0;  // running and waiting
  std::size_t short_calls = 0;
  std::chrono::nanoseconds short_work{0};  // their expected run time together
  std::size_t useless_workers = 0;         // held, but of no use now
};
/// One for each long call; as many for the short ones as get through them within the comfortable
/// backlog.
[[nodiscard]] unsigned workers_wanted(const Demand& demand, unsigned limit);

}  // namespace orchid::gateway
