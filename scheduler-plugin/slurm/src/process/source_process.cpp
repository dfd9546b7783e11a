#include "process/source_process.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <random>
#include <utility>

#include "changes.h"
#include "foundation/log.h"
#include "recording.h"

namespace orchid::slurm {
namespace {

constexpr std::chrono::seconds report_interval{5};

std::uint64_t random_seed() {
  std::random_device device;
  return device();
}

/// The first time at which the passing of time alone changes what is told.
ClusterTime first_boundary(const Inventory& inventory) {
  ClusterTime first = 0;
  for (const auto& [node, windows] : inventory.forecasts)
    if (const ClusterTime until = windows.front().until;
        until != 0 && (first == 0 || until < first))
      first = until;
  return first;
}

}  // namespace

SourceProcess::SourceProcess(Options options, const Clock& clock, LineWriter& writer,
                             AskingThread& asker)
    : options_(std::move(options)),
      clock_(clock),
      writer_(writer),
      asker_(asker),
      schedule_(options_.polls, random_seed()) {
  if (!options_.recording.empty()) recording_.open(options_.recording, std::ios::app);
}

Result<void> SourceProcess::run() {
  if (!options_.recording.empty() && !recording_)
    return fail(ErrorCode::bad_configuration,
                "cannot write the recording " + options_.recording.native());
  while (!told_all_) {
    const MonotonicTime now = clock_.now();
    if (auto checked = check_deadline(now); !checked) return checked;
    poll_if_due(now);
    if (started_ && now >= report_due_)
      if (auto told = report(now); !told) return told;
    // With `once` nobody commands.
    std::array<pollfd, 2> wait{
        {{asker_.descriptor(), POLLIN, 0}, {options_.once ? -1 : STDIN_FILENO, POLLIN, 0}}};
    if (::poll(wait.data(), wait.size(), wait_ms(now)) < 0 && errno != EINTR)
      return fail_errno("poll");
    if (wait[1].revents != 0) {
      const auto commands = read_commands();
      if (!commands) return fail(commands.error());
      if (*commands == Commands::closed) return {};
    }
    if (wait[0].revents != 0)
      if (auto taken = take_outcome(); !taken) return taken;
  }
  return {};
}

Result<SourceProcess::Commands> SourceProcess::read_commands() {
  std::array<char, 4096> buffer{};
  const ssize_t got = ::read(STDIN_FILENO, buffer.data(), buffer.size());
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return Commands::more;
  if (got <= 0) return Commands::closed;
  input_.append(buffer.data(), static_cast<std::size_t>(got));
  for (std::size_t end = 0; (end = input_.find('\n')) != std::string::npos;) {
    const std::string line = input_.substr(0, end);
    input_.erase(0, end + 1);
    if (auto obeyed = obey(line); !obeyed) return fail(std::move(obeyed.error()));
  }
  if (input_.size() > longest_source_line)
    return fail(ErrorCode::too_large, "a command is too long");
  return Commands::more;
}

Result<void> SourceProcess::obey(std::string_view line) {
  const auto command = parse_source_command(line);
  if (!command) return fail(command.error());
  if (const auto* wanted = std::get_if<SourceStart>(&*command)) {
    if (wanted->protocol != source_protocol_version)
      return fail(ErrorCode::unsupported,
                  "the gateway speaks version " + std::to_string(wanted->protocol) +
                      " of the sources' protocol, and orchid-slurm version " +
                      std::to_string(source_protocol_version) + ": use the same release of both");
    start();
    return {};
  }
  needs_full_ = true;
  return has_tables_ ? tell(/*changed=*/true) : Result<void>{};
}

/// The first answer, or failure, is reported at once; before that there is nothing to say.
void SourceProcess::start() {
  started_ = true;
  report_due_ = clock_.now() + report_interval;
}

Result<void> SourceProcess::take_outcome() {
  auto outcome = asker_.take();
  if (!outcome) return {};
  if (auto* polled = std::get_if<Polled>(&*outcome)) return take_poll(std::move(*polled));
  auto& opened = std::get<Result<Opened>>(*outcome);
  if (!opened) return fail(std::move(opened.error()));
  return say_hello(*opened);
}

Result<void> SourceProcess::say_hello(const Opened& opened) {
  log::info("event=opened cluster={} libslurm={}", opened.cluster, opened.release);
  if (options_.once) start();
  return writer_.write(encode(SourceHello{
      .source = "slurm",
      .version = ORCHID_VERSION,
      .cluster = opened.cluster,
      .backend = "Slurm " + opened.release,
      .requests_per_minute = options_.polls.requests_per_minute,
  }));
}

Result<void> SourceProcess::take_poll(Polled polled) {
  const MonotonicTime now = clock_.now();
  counters_["requests"] += polled.cost.requests;
  counters_["requests_unchanged"] += polled.cost.unchanged;
  counters_["request_microseconds"] += static_cast<std::uint64_t>(polled.cost.took.count());
  if (!polled.answer) {
    ++counters_["polls_failed"];
    schedule_.failed(now, polled.cost.requests);
    return take_failure(std::move(polled.answer.error()));
  }
  ++counters_["polls"];
  schedule_.succeeded(now, polled.cost.requests);
  answered_ = now;
  if (polled.answer->jobs) {
    plans_due_ = now + options_.plan_interval;
    has_pending_ = std::ranges::any_of(polled.answer->jobs->rows, [](const JobRow& job) {
      return job.state == SourceJobState::pending;
    });
  }
  if (recording_.is_open()) recording_ << encode(*polled.answer) << std::endl;
  const bool changed = take_answer(tables_, std::move(*polled.answer)) || !has_tables_;
  if (changed) {
    const std::int64_t ours = std::chrono::system_clock::to_time_t(clock_.wall_now());
    clock_offset_s_ = newest_time(tables_) - ours;
  }
  has_tables_ = true;
  if (std::exchange(failure_, std::nullopt)) log::info("event=slurmctld_answers");
  if (!was_current_) report_due_ = now;
  const bool is_settled = unseen_ == unseen_before_;
  unseen_before_ = unseen_;
  return tell(changed || !is_settled);
}

/// What was told stays; it ages. Only what asking again cannot mend ends the process.
Result<void> SourceProcess::take_failure(Failure failure) {
  if (options_.once || failure.code == ErrorCode::unsupported) return fail(std::move(failure));
  if (!failure_ || failure_->code != failure.code) {
    log::warn("event=slurmctld_silent code={} reason=\"{}\"", to_string(failure.code),
              failure.message);
    report_due_ = clock_.now();
  }
  failure_ = std::move(failure);
  // A slurmctld that comes back may be another one, with other reservations.
  slow_tables_due_ = {};
  return {};
}

void SourceProcess::poll_if_due(MonotonicTime now) {
  if (!started_ || asker_.busy_since() || now < schedule_.next()) return;
  const bool with_slow_tables = now >= slow_tables_due_;
  if (with_slow_tables) slow_tables_due_ = now + options_.slow_interval;
  PollRequest request = request_after(tables_, with_slow_tables);
  // slurmctld does not count it as a change when backfill plans a job.
  if (has_pending_ && now >= plans_due_) request.jobs_since = 0;
  asker_.ask(request);
}

Result<void> SourceProcess::tell(bool changed) {
  const ClusterTime now = cluster_now();
  if (!changed && !needs_full_ && (next_change_ == 0 || now < next_change_)) return {};
  Inventory next = make_inventory(tables_, options_.inventory, now);
  next_change_ = first_boundary(next);
  unseen_ = settle_hidden(next, unseen_before_);
  SourceUpdate update = needs_full_ ? everything_of(next) : changes_between(inventory_, next);
  inventory_ = std::move(next);
  counters_["nodes"] = inventory_.nodes.size();
  counters_["jobs"] = inventory_.jobs.size();
  if (!needs_full_ && is_empty(update)) return {};
  update.sequence = sequence_;
  update.time = now;
  for (std::string& line : encode(update)) {
    if (auto written = writer_.write(std::move(line)); !written) return written;
    ++sequence_;
  }
  ++counters_["updates"];
  needs_full_ = false;
  told_all_ = options_.once;
  return {};
}

Result<void> SourceProcess::report(MonotonicTime now) {
  report_due_ = now + report_interval;
  SourceReport report;
  report.is_current = answered_.has_value() && !failure_;
  was_current_ = report.is_current;
  if (failure_) {
    report.code = failure_->code;
    report.message = failure_->message;
  } else if (!answered_) {
    report.code = ErrorCode::unreachable;
    report.message = "slurmctld has not answered yet";
  }
  if (answered_)
    report.age_ms = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(now - *answered_).count());
  report.counters = counters_;
  report.counters["requests_last_minute"] = schedule_.recent_requests(now);
  report.counters["poll_pause_ms"] = static_cast<std::uint64_t>(schedule_.pause().count());
  return writer_.write(encode(report));
}

Result<void> SourceProcess::check_deadline(MonotonicTime now) const {
  const auto since = asker_.busy_since();
  if (!since || now - *since < options_.call_deadline) return {};
  return fail(ErrorCode::timed_out, "libslurm has not returned for " +
                                        std::to_string(options_.call_deadline.count()) +
                                        " ms: slurmctld, or the network to it, does not answer");
}

int SourceProcess::wait_ms(MonotonicTime now) const {
  MonotonicTime until = now + report_interval;
  if (started_) until = std::min(until, report_due_);
  if (const auto since = asker_.busy_since())
    until = std::min(until, *since + options_.call_deadline);
  else if (started_)
    until = std::min(until, schedule_.next());
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - now).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

ClusterTime SourceProcess::cluster_now() const {
  return std::chrono::system_clock::to_time_t(clock_.wall_now()) + clock_offset_s_;
}

}  // namespace orchid::slurm
