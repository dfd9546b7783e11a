#include "lane_client/policy.h"

namespace orchid::lane_client {

bool is_transient(ErrorCode code) {
  return code == ErrorCode::internal || code == ErrorCode::unreachable ||
         code == ErrorCode::timed_out || code == ErrorCode::system ||
         code == ErrorCode::no_capacity;
}

bool is_futile(ErrorCode code) {
  return code == ErrorCode::unsupported || code == ErrorCode::bad_configuration;
}

Verdict judge(CallHistory& call, const LostCall& lost, const LaneEnded& ended) {
  const bool unheard = !lost.named && lost.at_most_once && lost.answer_may_be_lost;
  const bool started = lost.named || unheard;
  const Outcome said = lost.named ? ended.outcome : Outcome::worker_lost;
  if (!started)
    --call.attempt;
  else if (said == Outcome::evicted)
    ++call.evictions;
  const bool wanted = !call.cancelled && !lost.deadline_passed;
  const bool may_repeat = is_retryable(said) && !lost.at_most_once && lost.repeatable &&
                          call.attempt - call.evictions < most_attempts;
  if (wanted && (!started || may_repeat)) return {.runs_again = true};
  if (is_retryable(said) && !wanted) {
    const Outcome outcome = call.cancelled ? Outcome::cancelled : Outcome::deadline_exceeded;
    return {.outcome = outcome, .message = cause_of(outcome)};
  }
  if (unheard) return {.outcome = said, .message = "the worker was lost, and its answer with it"};
  return {.outcome = said, .message = ended.message.empty() ? cause_of(said) : ended.message};
}

bool claims_answer(const LaneEnded& ended, std::uint64_t unanswered) {
  return !ended.started && unanswered != 0 && ended.answered >= unanswered;
}

void find_forgery(LaneEnded& ended, std::uint64_t unanswered) {
  if (!claims_answer(ended, unanswered)) return;
  ended.request = unanswered;
  ended.started = true;
  ended.outcome = Outcome::function_crashed;
  ended.message = broken_rules("its worker says that it has answered the call, and has not");
}

std::string broken_rules(std::string_view what) {
  return "the function broke the rules of its sandbox: " + std::string(what);
}

bool runs_again_without_code(CallHistory& call) {
  --call.attempt;
  return ++call.code_losses <= most_code_losses;
}

bool runs_again_without_data(CallHistory& call) {
  --call.attempt;
  return ++call.data_losses <= most_data_losses;
}

std::string_view cause_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::ok:
      return {};
    case Outcome::function_error:
      return "the function returned an error";
    case Outcome::function_crashed:
      return "the function crashed";
    case Outcome::function_exited:
      return "the function called exit";
    case Outcome::limit_exceeded:
      return "the function went over a limit";
    case Outcome::deadline_exceeded:
      return "the deadline passed while the function ran";
    case Outcome::cancelled:
      return "cancelled";
    case Outcome::evicted:
      return "the worker's cores were taken back";
    case Outcome::worker_lost:
      return "the worker was lost";
    case Outcome::no_capacity:
      return "no worker was free";
    case Outcome::bad_request:
      return "the input does not fit the function";
    case Outcome::denied:
      return "not allowed";
  }
  return {};
}

}  // namespace orchid::lane_client
