#include "terminal/exit_status.h"

#include <doctest/doctest.h>

#include "protocol/outcome.h"

namespace orchid::cli {

TEST_CASE("each outcome of an invocation has its exit status") {
  struct Case {
    Outcome outcome;
    int status;
  };
  for (const Case& c :
       {Case{Outcome::ok, 0}, Case{Outcome::function_error, 1}, Case{Outcome::function_crashed, 1},
        Case{Outcome::function_exited, 1}, Case{Outcome::limit_exceeded, 1},
        Case{Outcome::deadline_exceeded, 4}, Case{Outcome::cancelled, 1}, Case{Outcome::evicted, 5},
        Case{Outcome::worker_lost, 3}, Case{Outcome::no_capacity, 3}, Case{Outcome::bad_request, 2},
        Case{Outcome::denied, 6}}) {
    CAPTURE(to_string(c.outcome));
    CHECK(static_cast<int>(exit_status_of_outcome(to_string(c.outcome))) == c.status);
  }
  CHECK(exit_status_of_outcome("a_later_invention") == ExitStatus::orchid_failed);
}

TEST_CASE("an error of the SDK and the outcome of the same name end with the same status") {
  for (int i = 0; i <= static_cast<int>(ErrorKind::internal); ++i) {
    const auto kind = static_cast<ErrorKind>(i);
    CAPTURE(to_string(kind));
    CHECK(exit_status_of(kind) != ExitStatus::ok);
    if (parse_outcome(to_string(kind)))
      CHECK(exit_status_of(kind) == exit_status_of_outcome(to_string(kind)));
  }
}

TEST_CASE("what is wrong with the command, the user's rights and the platform is told apart") {
  CHECK(exit_status_of(ErrorKind::not_found) == ExitStatus::usage);
  CHECK(exit_status_of(ErrorKind::unauthenticated) == ExitStatus::denied);
  CHECK(exit_status_of(ErrorKind::unreachable) == ExitStatus::orchid_failed);
  CHECK(exit_status_of(ErrorKind::module_rejected) == ExitStatus::function_failed);
  CHECK(exit_status_of(ErrorCode::bad_configuration) == ExitStatus::usage);
  CHECK(exit_status_of(ErrorCode::module_rejected) == ExitStatus::function_failed);
  CHECK(exit_status_of(ErrorCode::compile_limit) == ExitStatus::function_failed);
  CHECK(exit_status_of(ErrorCode::disk_full) == ExitStatus::orchid_failed);
  CHECK(exit_status_of(ErrorCode::denied) == ExitStatus::denied);
}

}  // namespace orchid::cli
