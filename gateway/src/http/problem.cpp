#include "http/problem.h"

#include <nlohmann/json.hpp>

#include "http/json_text.h"

namespace orchid::gateway {
namespace {

struct Kind {
  unsigned status;
  std::string_view title;
  std::optional<unsigned> retry_after_s;
  std::optional<bool> retryable;
};

Kind kind_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::internal:
      return {500, "A defect of Orchid", {}, {}};
    case ErrorCode::bad_request:
      return {400, "The request is malformed", {}, false};
    case ErrorCode::bad_configuration:
      return {500, "The gateway's configuration is wrong", {}, false};
    case ErrorCode::unauthenticated:
      return {401, "Not authenticated", {}, false};
    case ErrorCode::denied:
      return {403, "Not allowed", {}, false};
    case ErrorCode::not_found:
      return {404, "Not found", {}, false};
    case ErrorCode::conflict:
      return {409, "Conflict with the current state", {}, false};
    case ErrorCode::too_large:
      return {413, "Over a limit", {}, false};
    case ErrorCode::module_rejected:
      return {422, "The module cannot be run", {}, false};
    case ErrorCode::no_capacity:
      return {503, "No capacity now", 1, true};
    case ErrorCode::quota:
      return {429, "Over the quota", 5, true};
    case ErrorCode::unreachable:
      return {503, "A part of Orchid does not answer", 1, true};
    case ErrorCode::timed_out:
      return {408, "Too slow", {}, true};
    case ErrorCode::cancelled:
      return {409, "Cancelled", {}, false};
    case ErrorCode::lease_ended:
      return {410, "The lease has ended", {}, false};
    case ErrorCode::disk_full:
      return {507, "The gateway's disk is full", {}, true};
    case ErrorCode::unsupported:
      return {501, "Not supported", {}, false};
    case ErrorCode::system:
      return {500, "The gateway's operating system refused", {}, {}};
    case ErrorCode::compile_limit:
      return {422, "The module takes too much to compile", {}, false};
    case ErrorCode::no_data_memory:
      return {507, "No room for the data", {}, {}};
    case ErrorCode::data_lost:
      return {410, "No copy of the data is left", {}, false};
    case ErrorCode::data_elsewhere:
      return {409, "No host has all data of the call", {}, false};
  }
  return {500, "A defect of Orchid", {}, {}};
}

Kind kind_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::ok:
      return {200, "Success", {}, false};
    case Outcome::function_error:
      return {502, "The function returned an error", {}, false};
    case Outcome::function_crashed:
      return {502, "The function crashed", {}, false};
    case Outcome::function_exited:
      return {502, "The function ended its process", {}, false};
    case Outcome::limit_exceeded:
      return {502, "The function went over a limit", {}, false};
    case Outcome::deadline_exceeded:
      return {504, "The call's deadline passed", {}, false};
    case Outcome::cancelled:
      return {409, "The call was cancelled", {}, false};
    case Outcome::evicted:
      return {503, "The function's cores were taken back", 1, true};
    case Outcome::worker_lost:
      return {503, "The function's worker was lost", 1, true};
    case Outcome::no_capacity:
      return {503, "No capacity now", 1, true};
    case Outcome::bad_request:
      return {400, "The input does not fit the entry", {}, false};
    case Outcome::denied:
      return {403, "Not allowed", {}, false};
  }
  return {500, "A defect of Orchid", {}, {}};
}

Outcome outcome_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::unauthenticated:
    case ErrorCode::denied:
      return Outcome::denied;
    case ErrorCode::bad_request:
    case ErrorCode::not_found:
    case ErrorCode::conflict:
    case ErrorCode::too_large:
    case ErrorCode::module_rejected:
    case ErrorCode::compile_limit:
    case ErrorCode::unsupported:
    case ErrorCode::data_lost:
    case ErrorCode::data_elsewhere:
      return Outcome::bad_request;
    case ErrorCode::timed_out:
      return Outcome::deadline_exceeded;
    case ErrorCode::cancelled:
      return Outcome::cancelled;
    default:
      return Outcome::no_capacity;
  }
}

template <typename Code>
Problem make_problem(Code code, std::string detail) {
  const Kind kind = kind_of(code);
  Problem problem;
  problem.status = kind.status;
  problem.code = to_string(code);
  problem.title = kind.title;
  problem.detail = std::move(detail);
  problem.retry_after_s = kind.retry_after_s;
  problem.retryable = kind.retryable;
  return problem;
}

}  // namespace

bool may_be_repeated(Outcome outcome) { return kind_of(outcome).retryable.value_or(false); }

Problem problem_of(const Failure& failure) { return make_problem(failure.code, failure.message); }

Problem problem_of_invocation(const Failure& failure) {
  Problem problem = problem_of(failure);
  problem.outcome = outcome_of(failure.code);
  return problem;
}

Problem problem_of(const CallResult& result) {
  Problem problem = result.refused ? make_problem(*result.refused, result.message)
                                   : make_problem(result.outcome, result.message);
  problem.outcome = result.outcome;
  problem.node = result.node;
  if (result.attempt > 0) problem.attempt = result.attempt;
  return problem;
}

std::string to_json(const Problem& problem) {
  nlohmann::ordered_json json{{"type", "urn:orchid:problem:" + problem.code},
                              {"title", problem.title},
                              {"status", problem.status},
                              {"detail", problem.detail}};
  if (problem.outcome) json["outcome"] = to_string(*problem.outcome);
  if (!problem.invocation.empty()) json["invocation"] = problem.invocation;
  if (!problem.function.empty()) json["function"] = problem.function;
  if (!problem.node.empty()) json["node"] = problem.node;
  if (problem.attempt) json["attempt"] = *problem.attempt;
  if (problem.retryable) json["retryable"] = *problem.retryable;
  return json_text(json);
}

Response to_response(const Problem& problem) {
  Response response;
  response.status = problem.status;
  response.content_type = content_type::problem;
  response.text = to_json(problem);
  if (problem.status == 401) response.with("WWW-Authenticate", "Bearer realm=\"orchid\"");
  if (problem.retry_after_s) response.with("Retry-After", std::to_string(*problem.retry_after_s));
  if (problem.outcome) response.with("Orchid-Outcome", to_string(*problem.outcome));
  if (!problem.invocation.empty()) response.with("Orchid-Invocation", problem.invocation);
  return response;
}

}  // namespace orchid::gateway
