#include "http/problem.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "foundation/json_document.h"

namespace orchid::sdk {
namespace {

constexpr auto last_kind = static_cast<int>(ErrorKind::internal);

ErrorKind kind_of_status(int status) {
  switch (status) {
    case 401:
      return ErrorKind::unauthenticated;
    case 403:
      return ErrorKind::denied;
    case 404:
      return ErrorKind::not_found;
    case 408:
      return ErrorKind::timed_out;
    case 409:
    case 412:
      return ErrorKind::conflict;
    case 410:
      return ErrorKind::lease_ended;
    case 413:
      return ErrorKind::too_large;
    case 422:
      return ErrorKind::module_rejected;
    case 429:
      return ErrorKind::quota;
    case 502:
      return ErrorKind::function_error;
    case 503:
      return ErrorKind::no_capacity;
    case 504:
      return ErrorKind::deadline_exceeded;
    case 507:
      return ErrorKind::no_capacity;
    default:
      return status < 500 ? ErrorKind::bad_request : ErrorKind::internal;
  }
}

std::string last_part(std::string_view type) {
  const auto cut = type.find_last_of("/:#");
  std::string name(cut == std::string_view::npos ? type : type.substr(cut + 1));
  std::ranges::replace(name, '-', '_');
  return name;
}

/// What a proxy or another server at this address wrote instead of a problem document, shortened.
std::string foreign_message(const HttpResponse& response) {
  constexpr std::size_t longest = 200;
  std::string text = "HTTP status " + std::to_string(response.status);
  if (!response.body.empty()) text.append(": ").append(response.text().substr(0, longest));
  return text;
}

}  // namespace

ErrorKind kind_of(Outcome outcome) {
  using enum ErrorKind;
  static constexpr std::array<ErrorKind, outcome_count> kinds{
      internal,       function_error,    function_crashed, function_exited,
      limit_exceeded, deadline_exceeded, cancelled,        evicted,
      worker_lost,    no_capacity,       bad_request,      denied};
  return kinds[static_cast<std::size_t>(outcome)];
}

ErrorKind kind_of(ErrorCode code) {
  using enum ErrorKind;
  static constexpr std::array kinds{
      internal,        bad_request,   bad_configuration, unauthenticated, denied,      not_found,
      conflict,        too_large,     module_rejected,   no_capacity,     quota,       unreachable,
      timed_out,       cancelled,     lease_ended,       disk_full,       unsupported, system,
      module_rejected,  // compile_limit
      no_capacity,      // no_data_memory
      data_lost,       data_elsewhere};
  static_assert(kinds.size() == static_cast<std::size_t>(ErrorCode::data_elsewhere) + 1);
  return kinds[static_cast<std::size_t>(code)];
}

bool is_outcome(ErrorKind kind) {
  for (std::uint8_t i = 1; i < outcome_count; ++i)
    if (kind_of(static_cast<Outcome>(i)) == kind) return true;
  return false;
}

bool is_retryable(ErrorKind kind) {
  return kind == ErrorKind::evicted || kind == ErrorKind::worker_lost ||
         kind == ErrorKind::no_capacity || kind == ErrorKind::quota ||
         kind == ErrorKind::unreachable;
}

std::string hint_for(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::bad_request:
      return "correct the arguments or options; the same request fails again";
    case ErrorKind::bad_configuration:
      return "correct the option, variable or file that is named";
    case ErrorKind::signature_mismatch:
      return "change the types in function<...>, or deploy the matching version";
    case ErrorKind::unauthenticated:
      return "set ORCHID_TOKEN to what 'orchid token' prints";
    case ErrorKind::denied:
      return "ask whoever runs this Orchid for permission";
    case ErrorKind::not_found:
      return "'orchid list' shows the functions, 'orchid leases' shows the leases";
    case ErrorKind::conflict:
      return "look at what is there now, and decide again";
    case ErrorKind::too_large:
      return "send less, or in pieces; GET /v1/limits states the limits";
    case ErrorKind::module_rejected:
      return "'orchid inspect' shows what is in the module, and what is wrong with it";
    case ErrorKind::quota:
      return "give back what you hold (see 'orchid leases'), or ask for less";
    case ErrorKind::function_error:
      return "the message is the function's own: correct its input or its code";
    case ErrorKind::function_crashed:
      return "'orchid logs' with the invocation's id shows what it wrote before";
    case ErrorKind::function_exited:
      return "let the function return its status instead of ending its process";
    case ErrorKind::limit_exceeded:
      return "give the call less to do, or take workers with more memory";
    case ErrorKind::deadline_exceeded:
      return "give it more time with a longer deadline, or look at its logs";
    case ErrorKind::cancelled:
      return "somebody cancelled it on purpose; call again if the result is wanted";
    case ErrorKind::evicted:
      return "call again: its cores were taken back, and it can run on others";
    case ErrorKind::worker_lost:
      return "call again; without at_most_once that happens by itself";
    case ErrorKind::no_capacity:
      return "try again, or look at 'orchid hosts' for what is free";
    case ErrorKind::lease_ended:
      return "take a new lease";
    case ErrorKind::unreachable:
      return "is it running, and is this its address? 'orchid doctor' looks for the cause";
    case ErrorKind::timed_out:
      return "wait longer; check whether it has happened before you try again";
    case ErrorKind::outcome_unknown:
      return "it may have happened, or not: start again from what is known";
    case ErrorKind::disk_full:
      return "make room on the disk that is named";
    case ErrorKind::unsupported:
      return "'orchid doctor' says what this machine can do";
    case ErrorKind::system:
      return "'orchid doctor' looks for the cause on this machine";
    case ErrorKind::data_lost:
      return "put it again; 'orchid data list' shows what is there";
    case ErrorKind::data_elsewhere:
      return "'orchid data copy NAME --to HOST' brings it to a host; 'orchid data describe' shows "
             "where it is";
    case ErrorKind::internal:
      return "this is a mistake in Orchid: please report it with this line and its logs";
  }
  return {};
}

std::optional<ErrorKind> parse_error_kind(std::string_view name) {
  for (int i = 0; i <= last_kind; ++i)
    if (to_string(static_cast<ErrorKind>(i)) == name) return static_cast<ErrorKind>(i);
  return std::nullopt;
}

Error error_from_response(const HttpResponse& response) {
  Error::Details details{.kind = kind_of_status(response.status), .http_status = response.status};
  details.outcome = response.header("orchid-outcome");
  details.invocation = response.header("orchid-invocation");
  if (const auto kind = parse_error_kind(details.outcome)) details.kind = *kind;
  const JsonDocument document(response.text());
  const bool is_problem = document.finish().has_value();
  // What of it is missing or odd is passed over: the status alone says enough.
  const JsonObject o = document.root().optional();
  if (is_problem) {
    const std::string type(last_part(o.text("type")));
    if (const auto kind = parse_error_kind(type))
      details.kind = *kind;
    else if (const auto code = parse_error_code(type))  // one that has no kind of its own
      details.kind = kind_of(*code);
    details.message = o.text("detail", 1 << 20);
    if (details.message.empty()) details.message = o.text("title");
    details.hint = o.text("hint");
    details.function = o.text("function");
    details.node = o.text("node");
    if (auto id = o.text("invocation"); !id.empty()) details.invocation = std::move(id);
    details.attempt = o.number<unsigned>("attempt");
    const bool of_invocation = !details.invocation.empty() && details.function.empty();
    if (details.hint.empty())
      details.hint = details.kind == ErrorKind::not_found && of_invocation
                         ? "'orchid status' shows the newest invocations"
                         : hint_for(details.kind);
  } else {
    details.message = foreign_message(response);
    details.hint = "is this address an Orchid gateway? 'orchid doctor' looks for the cause";
  }
  details.retryable = o.has("retryable") ? o.flag("retryable") : is_retryable(details.kind);
  return Error(std::move(details));
}

Error error_from_status(const InvocationStatus& status) {
  const ErrorKind kind = parse_error_kind(status.outcome).value_or(ErrorKind::internal);
  return Error({.kind = kind,
                .message = status.message.empty() ? "the invocation ended as " + status.outcome
                                                  : status.message,
                .hint = hint_for(kind),
                .outcome = status.outcome,
                .function = status.function,
                .invocation = status.id,
                .node = status.node,
                .attempt = status.attempt,
                .retryable = is_retryable(kind)});
}

}  // namespace orchid::sdk
