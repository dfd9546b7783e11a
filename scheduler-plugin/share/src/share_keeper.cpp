#include "share/share_keeper.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <utility>

#include "foundation/pipe.h"

namespace orchid::share {
namespace {

constexpr std::chrono::seconds longest_end{3};

/// The next of `signals`; 0: none within `time`.
int wait_for_signal(const sigset_t& signals, std::chrono::milliseconds time) {
  const timespec wait{.tv_sec = time.count() / 1000, .tv_nsec = time.count() % 1000 * 1'000'000};
  return std::max(0, ::sigtimedwait(&signals, nullptr, &wait));
}

/// That this thread has used.
std::chrono::nanoseconds processor_time() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

}  // namespace

sigset_t keeper_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGINT, SIGCHLD}) sigaddset(&signals, number);
  return signals;
}

ShareKeeper::ShareKeeper(Options options, processes::ChildProcess executor, UniqueFd feed)
    : executor_(std::move(executor)),
      feed_(std::move(feed)),
      processes_(options.processes),
      usage_(options.processes.job_cores),
      offer_(options.processes.job_cores, options.most_cores) {}

Result<ShareKeeper> ShareKeeper::start(Options options) {
  auto feed = make_pipe();
  if (!feed) return fail(std::move(feed.error()));
  std::vector<std::string> arguments = options.arguments;
  arguments.insert(arguments.end(), {"--core-feed", std::to_string(feed->reader.get())});
  const int reader = feed->reader.get();
  auto executor = processes::ChildProcess::start({.program = options.executor,
                                                  .arguments = std::move(arguments),
                                                  .descriptors = {{.from = reader, .as = reader}},
                                                  .group = processes::ProcessGroup::own,
                                                  .dies_with_us = true});
  if (!executor) return fail(std::move(executor.error()));
  return ShareKeeper(std::move(options), std::move(*executor), std::move(feed->writer));
}

processes::ProcessEnd ShareKeeper::run() {
  const sigset_t signals = keeper_signals();
  while (true) {
    const auto now = std::chrono::steady_clock::now();
    if (now >= next_look_ && (now - looked_ >= longest_interval || processes_.worth_a_look(now)))
      look(now);
    const int signal = wait_for_signal(signals, interval);
    if (signal == SIGTERM || signal == SIGINT) {
      told_to_end_ = true;
      executor_.send_signal(SIGTERM);  // it may have had it already, and ends then, too
      return {};
    }
    if (const auto end = executor_.reap()) return *end;
  }
}

/// One that takes longer is killed when we end.
processes::ProcessEnd ShareKeeper::wait_for_end() {
  return executor_.wait(longest_end).value_or(processes::ProcessEnd{});
}

void ShareKeeper::look(MonotonicTime now) {
  const auto before = processor_time();
  tell(offer_.decide(now, usage_.look(now, processes_.look(now))));
  looked_ = now;
  const auto pause = std::chrono::duration_cast<MonotonicTime::duration>(
      (processor_time() - before) / most_effort);
  next_look_ = now + std::min<MonotonicTime::duration>(pause, longest_interval);
}

/// One line is less than a pipe holds, and the executor reads; one that does not has ended, or is
/// about to be ended.
void ShareKeeper::tell(const CoreList& cores) {
  if (told_ == cores) return;
  const std::string line = to_core_text(cores) + "\n";
  if (::write(feed_.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size()))
    told_ = cores;
}

}  // namespace orchid::share
