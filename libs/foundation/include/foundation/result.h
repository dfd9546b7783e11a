// foundation/result.h: how a function reports what users, peers or hardware can cause.
#pragma once
#include <expected>
#include <string>
#include <string_view>
#include <utility>

#include "foundation/error_code.h"

namespace orchid {

/// Why something did not work: a code for programs, a message for people that says what to do, and
/// the context that was added on the way up. (The installed SDK throws `orchid::Error`, which is
/// built from this.)
struct Failure {
  ErrorCode code = ErrorCode::internal;
  std::string message;

  /// Prefixes the context: "opening the store: disk full". Returns itself, so that it can be passed
  /// on in one line.
  Failure while_doing(std::string_view what) && {
    message.insert(0, std::string(what) + ": ");
    return std::move(*this);
  }
};

template <typename T>
using Result = std::expected<T, Failure>;

[[nodiscard]] inline std::unexpected<Failure> fail(ErrorCode code, std::string message) {
  return std::unexpected(Failure{code, std::move(message)});
}
[[nodiscard]] inline std::unexpected<Failure> fail(Failure failure) {
  return std::unexpected(std::move(failure));
}

/// A Failure of `code` that names the failed step and errno's text: "open /x: Permission denied".
[[nodiscard]] Failure system_failure(ErrorCode code, std::string_view step, int error_number);

/// The same for the errno of this moment, ready to be returned.
[[nodiscard]] std::unexpected<Failure> fail_errno(std::string_view step);

}  // namespace orchid
