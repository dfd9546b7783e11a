#include "orchid/error.h"

#include <utility>

#include "http/problem.h"

namespace orchid {
namespace {

Error::Details with_hint(Error::Details details) {
  if (details.hint.empty()) details.hint = sdk::hint_for(details.kind);
  return details;
}

std::string one_line(const Error::Details& details) {
  std::string line =
      details.message.empty() ? std::string(to_string(details.kind)) : details.message;
  std::string place;
  const auto add = [&place](std::string_view label, std::string_view value) {
    if (value.empty()) return;
    if (!place.empty()) place += ", ";
    place.append(label).append(" ").append(value);
  };
  add("function", details.function);
  add("invocation", details.invocation);
  add("node", details.node);
  if (details.attempt > 1) add("attempt", std::to_string(details.attempt));
  if (!place.empty()) line.append(" (").append(place).append(")");
  if (!details.hint.empty()) line.append("; ").append(details.hint);
  for (char& c : line)
    if (c == '\n' || c == '\r') c = ' ';
  return line;
}

}  // namespace

std::string_view to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::bad_request:
      return "bad_request";
    case ErrorKind::bad_configuration:
      return "bad_configuration";
    case ErrorKind::signature_mismatch:
      return "signature_mismatch";
    case ErrorKind::unauthenticated:
      return "unauthenticated";
    case ErrorKind::denied:
      return "denied";
    case ErrorKind::not_found:
      return "not_found";
    case ErrorKind::conflict:
      return "conflict";
    case ErrorKind::too_large:
      return "too_large";
    case ErrorKind::module_rejected:
      return "module_rejected";
    case ErrorKind::quota:
      return "quota";
    case ErrorKind::function_error:
      return "function_error";
    case ErrorKind::function_crashed:
      return "function_crashed";
    case ErrorKind::function_exited:
      return "function_exited";
    case ErrorKind::limit_exceeded:
      return "limit_exceeded";
    case ErrorKind::deadline_exceeded:
      return "deadline_exceeded";
    case ErrorKind::cancelled:
      return "cancelled";
    case ErrorKind::evicted:
      return "evicted";
    case ErrorKind::worker_lost:
      return "worker_lost";
    case ErrorKind::no_capacity:
      return "no_capacity";
    case ErrorKind::lease_ended:
      return "lease_ended";
    case ErrorKind::unreachable:
      return "unreachable";
    case ErrorKind::timed_out:
      return "timed_out";
    case ErrorKind::outcome_unknown:
      return "outcome_unknown";
    case ErrorKind::disk_full:
      return "disk_full";
    case ErrorKind::unsupported:
      return "unsupported";
    case ErrorKind::system:
      return "system";
    case ErrorKind::data_lost:
      return "data_lost";
    case ErrorKind::data_elsewhere:
      return "data_elsewhere";
    case ErrorKind::internal:
      return "internal";
  }
  return "internal";
}

Error::Error(Details details)
    : details_(with_hint(std::move(details))), line_(one_line(details_)) {}

}  // namespace orchid
