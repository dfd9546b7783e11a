#include "call_maker.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "calls_left.h"
#include "flow_run/flow_calls.h"

namespace orchid::flows {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds first_pause{100};
constexpr milliseconds longest_pause{2'000};

/// Whether the call may have been made, or could be a little later: then it is asked for again.
bool is_unanswered(const Error& error) {
  if (!error.outcome().empty() || !error.invocation().empty()) return false;
  return error.kind() == ErrorKind::unreachable || error.kind() == ErrorKind::timed_out ||
         error.kind() == ErrorKind::no_capacity || error.kind() == ErrorKind::quota;
}

/// Thrown out of a wait for a call that nobody looks after any more.
struct Forgotten {};

flow::CallFailed failure_of(const FlowCall& call, const Error& error) {
  std::string message = error.message();
  if (!error.node().empty()) message += " (on host " + error.node() + ")";
  if (!error.invocation().empty()) message += " (invocation " + error.invocation() + ")";
  return {
      .call = {.run = 0, .number = call.number},
      .outcome = error.outcome().empty() ? std::string(to_string(error.kind())) : error.outcome(),
      .message = std::move(message)};
}

InvokeOptions options_for(const FlowCall& call) {
  return {.deadline = call.deadline,
          .idempotency_key = key_of_call(call.flow, call.number),
          .signature = call.signature,
          .host_kind = call.host_kind,
          .device = flow::wanted_device(call.device),
          .cluster = call.cluster,
          .data = flow::references_to(call.data)};
}

}  // namespace

CallMaker::~CallMaker() {
  {
    const std::lock_guard lock(mutex_);
    most_ = 0;  // nothing begins any more
  }
  quick_.reset();
  {
    const std::lock_guard lock(mutex_);
    for (std::jthread& thread : threads_) thread.request_stop();
  }
  more_.notify_all();
  threads_.clear();
}

void CallMaker::start(FlowCall call) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(call));
  begin_some();
}

void CallMaker::begin_some() {
  while (under_way_ < most_ && !waiting_.empty()) {
    ++under_way_;
    FlowCall next = std::move(waiting_.front());
    waiting_.pop_front();
    begin(std::move(next));
  }
}

void CallMaker::begin(FlowCall call) {
  const auto begun = std::make_shared<const Begun>(Begun{std::move(call), ++begun_});
  const FlowCall& made = begun->call;
  running_.insert_or_assign(Name(made.flow, made.number), Running{.instance = begun->instance});
  if (made.keeps) return hand_over(begun);
  quick_->start(
      made.function, made.input, options_for(made),
      [this, begun](std::optional<Reply> reply) { ended_quickly(begun, std::move(reply)); });
}

void CallMaker::hand_over(BegunPointer begun) {
  handed_over_.push_back(std::move(begun));
  if (idle_ < handed_over_.size() && threads_.size() < most_)
    threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
  more_.notify_one();
}

CallMaker::Wish CallMaker::wish_now(const Begun& begun) const {
  const auto found = running_.find({begun.call.flow, begun.call.number});
  const bool is_own = found != running_.end() && found->second.instance == begun.instance;
  return is_own ? found->second.wish : Wish::forget;
}

/// There is room for another one.
void CallMaker::end(const Begun& begun) {
  const auto found = running_.find({begun.call.flow, begun.call.number});
  if (found != running_.end() && found->second.instance == begun.instance) running_.erase(found);
  --under_way_;
  begin_some();
}

void CallMaker::ended_quickly(const BegunPointer& begun, std::optional<Reply> reply) {
  {
    const std::lock_guard lock(mutex_);
    const Wish wish = wish_now(*begun);
    if (wish != Wish::forget && !reply) return hand_over(begun);
    if (wish != Wish::answer) reply.reset();
    end(*begun);
  }
  if (!reply) return;
  const FlowCall& call = begun->call;
  arrivals_.put(CallEnded{.flow = call.flow,
                          .event = flow::Answered{.call = {.run = 0, .number = call.number},
                                                  .output = std::move(reply->output),
                                                  .run_time = reply->timing.run,
                                                  .host = std::move(reply->node)}});
}

void CallMaker::stop(const std::string& flow, std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  std::erase_if(waiting_,
                [&](const FlowCall& one) { return one.flow == flow && one.number == number; });
  if (const auto found = running_.find({flow, number}); found != running_.end())
    found->second.wish = Wish::cancel;
}

void CallMaker::forget(const std::string& flow) {
  preparations_.forget(flow);
  const std::lock_guard lock(mutex_);
  std::erase_if(waiting_, [&](const FlowCall& one) { return one.flow == flow; });
  for (auto& [name, running] : running_)
    if (name.first == flow && running.wish == Wish::answer) running.wish = Wish::forget;
}

void CallMaker::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    more_.wait(lock, [&] { return !handed_over_.empty() || stop.stop_requested(); });
    --idle_;
    if (stop.stop_requested()) return;
    const BegunPointer next = std::move(handed_over_.front());
    handed_over_.pop_front();
    lock.unlock();
    make(*next, stop);
    lock.lock();
    end(*next);
  }
}

void CallMaker::make(const Begun& begun, const std::stop_token& stop) {
  auto event = call(begun, stop);
  if (event && wish_for(begun, stop) == Wish::answer)
    arrivals_.put(CallEnded{.flow = begun.call.flow, .event = std::move(*event)});
}

std::optional<flow::Event> CallMaker::call(const Begun& begun, const std::stop_token& stop) {
  const FlowCall& call = begun.call;
  if (call.keeps) return keep(begun, stop);
  InvokeOptions options = options_for(call);
  // False would cancel the call, which goes on when it is only forgotten.
  options.watch = [&](const InvocationStatus&) {
    switch (wish_for(begun, stop)) {
      case Wish::answer:
        return true;
      case Wish::cancel:
        return false;
      case Wish::forget:
        throw Forgotten{};
    }
    return true;
  };
  for (milliseconds wait = first_pause;; wait = std::min(2 * wait, longest_pause)) {
    try {
      Reply reply = client_.invoke(call.function, call.input, options);
      return flow::Answered{.call = {.run = 0, .number = call.number},
                            .output = std::move(reply.output),
                            .run_time = reply.timing.run,
                            .host = std::move(reply.node)};
    } catch (const Forgotten&) {
      return std::nullopt;
    } catch (const Error& error) {
      if (!is_unanswered(error)) {
        flow::CallFailed failed = failure_of(call, error);
        flow::explain_large_input(call.input.size(), failed);
        flow::find_lost(client_, call.data, failed);
        auto told = flow::wait_for_data(client_, {.given = call.data, .kept = call.kept},
                                        std::move(failed), [&] {
                                          pause(longest_pause, stop);
                                          return wish_for(begun, stop) == Wish::answer;
                                        });
        if (!told) return std::nullopt;
        return std::move(*told);
      }
    }
    pause(wait, stop);
    if (wish_for(begun, stop) != Wish::answer) return std::nullopt;
  }
}

std::optional<flow::Event> CallMaker::keep(const Begun& begun, const std::stop_token& stop) {
  const FlowCall& call = begun.call;
  const flow::CallId id{.run = 0, .number = call.number};
  const auto give_up = std::chrono::steady_clock::now() + flow::keep_patience;
  for (milliseconds wait = first_pause; wish_for(begun, stop) == Wish::answer;
       wait = std::min(2 * wait, longest_pause)) {
    if (auto told = flow::try_to_keep(client_, id, call.data.at(0), give_up)) return told;
    pause(wait, stop);
  }
  return std::nullopt;
}

CallMaker::Wish CallMaker::wish_for(const Begun& begun, const std::stop_token& stop) {
  if (stop.stop_requested()) return Wish::forget;
  const std::lock_guard lock(mutex_);
  return wish_now(begun);
}

/// Or until the process ends.
void CallMaker::pause(milliseconds time, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  pausing_.wait_for(lock, stop, time, [] { return false; });
}

}  // namespace orchid::flows
