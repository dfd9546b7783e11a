// process/line_writer.h: the way to the gateway: whole lines on one descriptor, also from an exit
// that somebody else has called.
#pragma once
#include <mutex>
#include <string>
#include <string_view>

#include "foundation/result.h"
#include "protocol/source_messages.h"

namespace orchid::slurm {

/// Any thread.
class LineWriter {
 public:
  explicit LineWriter(int fd) : fd_(fd) {}
  /// Blocks while the gateway does not read. Errors: `unreachable` (it has gone).
  [[nodiscard]] Result<void> write(std::string line);
  /// Waits for another thread's line for a second only, since that may be stuck.
  void write_last(std::string line);

 private:
  [[nodiscard]] Result<void> put(std::string_view text) const;
  int fd_;
  std::timed_mutex mutex_;  // the only lock of this program; held for one write
};

/// The exit status that tells a failure's kind: docs/PROTOCOL.md §9.
[[nodiscard]] int exit_status_of(ErrorCode code);

/// Says why, in the last line, and ends the process at once: another thread may be stuck in
/// libslurm.
[[noreturn]] void end_with(LineWriter& writer, const Failure& failure);

/// From now on an exit that libslurm calls writes an error first. What was written to standard
/// error while `opening` is quoted in it. The only state that is global: exit handlers have no
/// arguments.
void expect_foreign_exit(LineWriter& writer);
/// Standard error goes to a memory file until `stop_quoting`, which copies it to where it belongs.
void start_quoting();
void stop_quoting();

}  // namespace orchid::slurm
