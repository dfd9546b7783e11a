// orchid/error.h: the one exception that the SDK throws.
#pragma once
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

namespace orchid {

/// What went wrong, for programs that decide by it. The names (`to_string`) are those of the HTTP
/// API.
enum class ErrorKind : std::uint8_t {
  // The request or the environment.
  bad_request,         // malformed, or the input does not fit the entry
  bad_configuration,   // an option, a variable or a file of this side is wrong
  signature_mismatch,  // a typed function was asked for with other types than it has
  unauthenticated,     // no token, or a wrong one
  denied,              // authenticated, but not allowed
  not_found,
  conflict,   // exists with another content, or a precondition failed
  too_large,  // over a stated limit
  module_rejected,
  quota,
  // The function.
  function_error,  // it returned an error, or an exception escaped from it
  function_crashed,
  function_exited,
  limit_exceeded,  // memory, output, logs, processes
  deadline_exceeded,
  cancelled,
  // Orchid.
  evicted,      // the place was taken back
  worker_lost,  // worker or host gone, not by the function's doing
  no_capacity,
  lease_ended,      // released, expired or revoked; a new lease helps
  unreachable,      // the gateway does not answer
  timed_out,        // it did not answer in time; what was asked for may have happened
  outcome_unknown,  // an atomic operation was sent and has no answer; it was not sent again
  disk_full,
  unsupported,
  system,
  data_lost,       // no copy of a data object is left
  data_elsewhere,  // no worker that may run the call can have all its data objects
  internal,
};

[[nodiscard]] std::string_view to_string(ErrorKind kind);

/// A value. `what()` is one line: what happened, where, and what to do.
class Error : public std::exception {
 public:
  struct Details {
    ErrorKind kind = ErrorKind::internal;
    std::string message;  // what happened
    std::string hint;     // what to do; empty: what helps with this kind in general
    std::string
        outcome;  // of the invocation, as on the wire ("function_crashed"); empty: there was none
    int http_status = 0;  // 0: no answer
    std::string function;
    std::string invocation;  // its id; empty: there was none
    std::string node;        // host name
    unsigned attempt = 0;    // 1: the first
    bool retryable = false;  // the same call may be sent again, and has a chance
    std::string log{};       // what a direct call had printed when its worker ended; may be empty
  };

  explicit Error(Details details);

  [[nodiscard]] const char* what() const noexcept override { return line_.c_str(); }
  [[nodiscard]] ErrorKind kind() const { return details_.kind; }
  [[nodiscard]] const std::string& message() const { return details_.message; }
  [[nodiscard]] const std::string& hint() const { return details_.hint; }
  [[nodiscard]] const std::string& outcome() const { return details_.outcome; }
  [[nodiscard]] int http_status() const { return details_.http_status; }
  [[nodiscard]] const std::string& function() const { return details_.function; }
  [[nodiscard]] const std::string& invocation() const { return details_.invocation; }
  [[nodiscard]] const std::string& node() const { return details_.node; }
  [[nodiscard]] unsigned attempt() const { return details_.attempt; }
  [[nodiscard]] bool retryable() const { return details_.retryable; }
  [[nodiscard]] const std::string& log() const { return details_.log; }
  [[nodiscard]] const Details& details() const { return details_; }

 private:
  Details details_;
  std::string line_;
};

}  // namespace orchid
