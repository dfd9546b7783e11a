// process/source_process.h: the main thread of orchid-slurm: commands in, updates and reports out,
// and a deadline on everything that libslurm does.
#pragma once
#include <cstdint>
#include <fstream>
#include <map>
#include <optional>
#include <string>

#include "cluster_poll.h"
#include "foundation/clock.h"
#include "inventory.h"
#include "poll_schedule.h"
#include "process/asking_thread.h"
#include "process/line_writer.h"
#include "process/options.h"

namespace orchid::slurm {

/// Owned by the main thread.
class SourceProcess {
 public:
  SourceProcess(Options options, const Clock& clock, LineWriter& writer, AskingThread& asker);

  /// Until the gateway closes its end, or with `once` until all is told. Errors: why the process
  /// must end.
  [[nodiscard]] Result<void> run();

 private:
  enum class Commands : std::uint8_t { more, closed };
  [[nodiscard]] Result<Commands> read_commands();
  [[nodiscard]] Result<void> obey(std::string_view line);
  void start();
  [[nodiscard]] Result<void> take_outcome();
  [[nodiscard]] Result<void> say_hello(const Opened& opened);
  [[nodiscard]] Result<void> take_poll(Polled polled);
  [[nodiscard]] Result<void> take_failure(Failure failure);
  void poll_if_due(MonotonicTime now);
  [[nodiscard]] Result<void> tell(bool changed);
  [[nodiscard]] Result<void> report(MonotonicTime now);
  [[nodiscard]] Result<void> check_deadline(MonotonicTime now) const;
  [[nodiscard]] int wait_ms(MonotonicTime now) const;
  [[nodiscard]] ClusterTime cluster_now() const;

  Options options_;
  const Clock& clock_;
  LineWriter& writer_;
  AskingThread& asker_;
  std::ofstream recording_;
  PollSchedule schedule_;

  std::string input_;  // of a line that is not complete
  bool started_ = false;
  bool told_all_ = false;  // with `once`
  bool needs_full_ = true;
  std::uint64_t sequence_ = 1;

  ClusterTables tables_;
  bool has_tables_ = false;
  Inventory inventory_;
  UnseenCores unseen_;               // of the newest tables
  UnseenCores unseen_before_;        // of those before
  ClusterTime next_change_ = 0;      // of the inventory by the passing of time alone; 0: none
  std::int64_t clock_offset_s_ = 0;  // the cluster's clock minus ours
  MonotonicTime slow_tables_due_{};
  MonotonicTime plans_due_{};  // when jobs are asked for even if they have not changed
  bool has_pending_ = false;

  std::optional<Failure> failure_;  // why what is told ages
  std::optional<MonotonicTime> answered_;
  MonotonicTime report_due_{};
  bool was_current_ = false;  // as reported last
  std::map<std::string, std::uint64_t> counters_;
};

}  // namespace orchid::slurm
