// How a call ends: what its entry has said, what it leaves behind, and who hears of it.
#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "call_loop.h"
#include "last_words.h"
#include "orchid/function.h"

namespace orchid::executor {

CallLoop::Verdict CallLoop::verdict_of(std::int32_t status, orchid_call& call) {
  if (status == ORCHID_OK) return {};
  const std::uint32_t refused = parts_.page.refused.load(std::memory_order_relaxed);
  std::string_view message = call.message_text();
  if ((refused & refused_output) != 0) {
    fallback_message_ = (call.stream == nullptr ? "the function's output is over the limit of "
                                                : "a chunk of output is over the limit of ") +
                        to_string(output_limit_of(call.stream != nullptr)) +
                        ", or the caller keeps too many answers";
    return {Outcome::limit_exceeded, fallback_message_};
  }
  if ((refused & refused_device) != 0) return {Outcome::limit_exceeded, message};
  if (message.empty()) {
    fallback_message_ = orchid_should_stop(&call) != 0
                            ? "the function stopped, as it was asked to"
                            : "the function returned status " + std::to_string(status);
    message = fallback_message_;
  }
  return {status == ORCHID_BAD_ARGUMENTS ? Outcome::bad_request : Outcome::function_error, message};
}

void CallLoop::finish(const transport::LaneRequest& request, const orchid_call& call,
                      const Verdict& verdict) {
  last_end_ = ticks_now();
  const auto run_time = parts_.rate.duration(last_end_ - call.started_ticks);
  parts_.objects.unmap_rooms();
  parts_.memory.close();
  std::string_view left = call.device.end_call();
  const std::string_view left_inline = inline_calls_.end_call(call.device);
  if (left.empty()) left = left_inline;
  parts_.hygiene.expect_team(parts_.cores.thread_count());
  if (parts_.objects.take_refused_seal()) parts_.hygiene.look_at_once();
  std::string_view spoiled = parts_.hygiene.restore_after_call(run_time);
  if (spoiled.empty()) spoiled = left;
  StatusPage& page = parts_.page;
  // What it holds, nobody gives back; the next call, or only its code, might find no room.
  if (verdict.outcome != Outcome::ok && was_refused_memory()) spoiled = "it had no memory left";
  const bool has_objects = parts_.objects.in_use();
  auto running = pack_state(number_, RunState::running);
  const auto next = pack_state(number_, has_objects ? RunState::ending : RunState::idle);
  if (!page.state.compare_exchange_strong(running, next))
    while (true)
      ::pause();  // the agent was first: it has promised another outcome and is about to kill us
  // Its outcome is ours to tell by now: nobody ends the call for its deadline any more.
  const Verdict step = judge_step(verdict);
  const Verdict told = has_objects ? end_objects(step) : step;
  page.calls.store(number_, std::memory_order_relaxed);
  if (spoiled.empty() && parts_.objects.has_given_up()) spoiled = "its depot did not answer";
  if (spoiled.empty()) spoiled = parts_.made.spoiled();
  const LoadedModule* const module =
      parts_.modules.find(request.header.slot, request.header.generation);
  transport::LaneWorker::Answer answer{.outcome = told.outcome,
                                       .run_time = run_time,
                                       .message = told.message,
                                       .quick_code = module != nullptr && module->quick};
  if (!parts_.log.empty()) {
    answer.log = parts_.log.text();
    answer.log_dropped = parts_.log.dropped();
  }
  const bool logged = !parts_.log.empty();
  const bool moves =
      parts_.crew != nullptr && parts_.crew->goes_on() && told.outcome == Outcome::ok;
  if (auto sent = moves ? parts_.crew->move_on(answer) : parts_.lane.answer(answer); !sent)
    end(LastWords::failed, sent.error().message);
  if (parts_.lane.asks_kernel()) last_end_ = 0;  // what comes until the next call is not its time
  if (logged) parts_.log.clear();
  if (!spoiled.empty()) end(LastWords::spoiled, spoiled);
}

/// A call that could not go on has failed, whatever its entry made of that.
CallLoop::Verdict CallLoop::judge_step(const Verdict& verdict) const {
  const bool may_be_of_it =
      verdict.outcome == Outcome::ok || verdict.outcome == Outcome::function_error;
  if (parts_.crew == nullptr || !may_be_of_it) return verdict;
  if (verdict.outcome == Outcome::ok) parts_.crew->judge_wishes();
  // Whether the call succeeds is not known before its last step, and only then may others see it.
  const bool is_last = !parts_.crew->goes_on() && !parts_.crew->is_child();
  if (verdict.outcome == Outcome::ok && !is_last && parts_.objects.has_made())
    return {Outcome::function_error,
            "orchid_forward, orchid_spawn: a call that has made data objects cannot go on, and its "
            "children cannot make any; make them in its last step"};
  if (!parts_.crew->refusal()) return verdict;
  return {parts_.crew->refusal()->outcome, parts_.crew->refusal()->message};
}

/// What a call has made is seen by others before it is answered, or the call has not succeeded.
CallLoop::Verdict CallLoop::end_objects(const Verdict& verdict) {
  const auto ended = parts_.objects.end(verdict.outcome == Outcome::ok);
  parts_.page.state.store(pack_state(number_, RunState::idle), std::memory_order_release);
  if (ended || verdict.outcome != Outcome::ok) return verdict;
  fallback_message_ = std::string(to_string(ended.error().code)) +
                      ": the data that the call has made is not kept: " + ended.error().message;
  return {Outcome::function_error, fallback_message_};
}

bool CallLoop::was_refused_memory() const {
  return (parts_.page.refused.load(std::memory_order_relaxed) & refused_memory) != 0;
}

}  // namespace orchid::executor
