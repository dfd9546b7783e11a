// benchmarks/forked_end.h: the other end of what is measured: a process of its own.
#pragma once
#include <sys/types.h>

#include <functional>
#include <string>
#include <utility>

#include "foundation/result.h"
#include "foundation/unique_fd.h"

namespace orchid::bench {

/// Is killed with its owner, and with this program. Owned by one thread.
class ForkedEnd {
 public:
  struct Options {
    std::string name;  // before its last words
    int core = -1;     // which it is bound to; -1: none
  };
  /// In the child; `report` is its end of a packet socket. Why it ends is printed.
  using Life = std::function<Result<void>(int report)>;
  /// Errors: `system`.
  [[nodiscard]] static Result<ForkedEnd> start(const Options& options, const Life& life);
  ForkedEnd(ForkedEnd&& other) noexcept
      : process_(std::exchange(other.process_, -1)), report_(std::move(other.report_)) {}
  ForkedEnd& operator=(ForkedEnd&&) = delete;
  ~ForkedEnd();

  /// What it says next, of at most 512 bytes. Errors: `unreachable` (it has ended), `timed_out`
  /// (after 60 s).
  [[nodiscard]] Result<std::string> hear();

 private:
  ForkedEnd(pid_t process, UniqueFd report) : process_(process), report_(std::move(report)) {}
  pid_t process_;
  UniqueFd report_;
};

/// For its life: says `text`. Errors: `system`.
[[nodiscard]] Result<void> say(int report, const std::string& text);

}  // namespace orchid::bench
