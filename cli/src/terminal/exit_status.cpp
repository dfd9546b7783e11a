#include "terminal/exit_status.h"

#include <optional>

#include "protocol/outcome.h"

namespace orchid::cli {

ExitStatus exit_status_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::function_error:
    case ErrorKind::function_crashed:
    case ErrorKind::function_exited:
    case ErrorKind::limit_exceeded:
    case ErrorKind::cancelled:
    case ErrorKind::module_rejected:
      return ExitStatus::function_failed;
    case ErrorKind::bad_request:
    case ErrorKind::bad_configuration:
    case ErrorKind::signature_mismatch:
    case ErrorKind::not_found:
    case ErrorKind::conflict:
    case ErrorKind::too_large:
    case ErrorKind::data_elsewhere:
      return ExitStatus::usage;
    case ErrorKind::deadline_exceeded:
      return ExitStatus::deadline;
    case ErrorKind::evicted:
      return ExitStatus::evicted;
    case ErrorKind::unauthenticated:
    case ErrorKind::denied:
      return ExitStatus::denied;
    case ErrorKind::quota:
    case ErrorKind::worker_lost:
    case ErrorKind::no_capacity:
    case ErrorKind::lease_ended:
    case ErrorKind::unreachable:
    case ErrorKind::timed_out:
    case ErrorKind::outcome_unknown:
    case ErrorKind::disk_full:
    case ErrorKind::unsupported:
    case ErrorKind::system:
    case ErrorKind::data_lost:
    case ErrorKind::internal:
      return ExitStatus::orchid_failed;
  }
  return ExitStatus::orchid_failed;
}

ExitStatus exit_status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::bad_request:
    case ErrorCode::bad_configuration:
    case ErrorCode::not_found:
    case ErrorCode::conflict:
    case ErrorCode::too_large:
      return ExitStatus::usage;
    case ErrorCode::module_rejected:
    case ErrorCode::compile_limit:
      return ExitStatus::function_failed;
    case ErrorCode::unauthenticated:
    case ErrorCode::denied:
      return ExitStatus::denied;
    default:
      return ExitStatus::orchid_failed;
  }
}

ExitStatus exit_status_of_outcome(std::string_view outcome) {
  const std::optional<Outcome> known = parse_outcome(outcome);
  if (!known) {  // what the SDK names besides
    for (auto kind = ErrorKind::bad_request; kind <= ErrorKind::internal;
         kind = static_cast<ErrorKind>(static_cast<int>(kind) + 1))
      if (to_string(kind) == outcome) return exit_status_of(kind);
    return ExitStatus::orchid_failed;
  }
  switch (*known) {
    case Outcome::ok:
      return ExitStatus::ok;
    case Outcome::function_error:
    case Outcome::function_crashed:
    case Outcome::function_exited:
    case Outcome::limit_exceeded:
    case Outcome::cancelled:
      return ExitStatus::function_failed;
    case Outcome::bad_request:
      return ExitStatus::usage;
    case Outcome::deadline_exceeded:
      return ExitStatus::deadline;
    case Outcome::evicted:
      return ExitStatus::evicted;
    case Outcome::denied:
      return ExitStatus::denied;
    case Outcome::worker_lost:
    case Outcome::no_capacity:
      return ExitStatus::orchid_failed;
  }
  return ExitStatus::orchid_failed;
}

}  // namespace orchid::cli
