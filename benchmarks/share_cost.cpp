// benchmarks/share_cost.cpp: what does a share cost the job that it is a part of?
//
// The hooks of spank_orchid.so, called as Slurm calls them: a job without the option, and one with
// it, whose script waits until the shell that goes its own way has been started. And what `orchid
// share keep` does beside the job's steps: asking whether anybody was started, every 50 ms, and
// looking at /proc when somebody was, with 100 processes of the job on this machine.
#include <dlfcn.h>
#include <signal.h>
#include <slurm/slurm.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

extern "C" {
#include <slurm/spank.h>
}

#include "foundation/tick_clock.h"
#include "harness/bench.h"
#include "processes/child_process.h"
#include "share/core_usage.h"
#include "share/job_processes.h"
#include "share/share_offer.h"

namespace orchid::bench {
namespace {

constexpr int calls_per_round = 50;
constexpr std::uint64_t job = 4'000'001;

[[noreturn]] void give_up(const std::string& message) {
  std::fprintf(stderr, "share_cost: %s\n", message.c_str());
  std::exit(3);
}

/// What Slurm's programs would answer to the plugin.
struct FakeSlurm {
  spank_context_t context = S_CTX_REMOTE;
  spank_option* option = nullptr;
  std::array<const char*, 3> environment{"PATH=/usr/bin:/bin", "SLURM_JOB_ID=4000002", nullptr};
};
FakeSlurm slurm;

/// The plugin, loaded as Slurm does it.
class Plugin {
 public:
  Plugin() : handle_(::dlopen(PLUGIN, RTLD_NOW)) {
    if (handle_ == nullptr) give_up(::dlerror());
    init_ = hook("slurm_spank_init");
    task_init_ = hook("slurm_spank_task_init");
  }
  void init() const { run(init_); }
  void task_init() const { run(task_init_); }

 private:
  using Hook = int (*)(spank_t, int, char**);
  [[nodiscard]] Hook hook(const char* name) const {
    auto* found = reinterpret_cast<Hook>(::dlsym(handle_, name));
    if (found == nullptr) give_up(std::string("no hook ") + name);
    return found;
  }
  static void run(Hook hook) {
    char program[] = "orchid=/bin/true";
    std::array<char*, 1> arguments{program};
    if (hook(nullptr, 1, arguments.data()) != 0) give_up("a hook has failed");
  }
  void* handle_;
  Hook init_;
  Hook task_init_;
};

/// Processes of a job's step, for as long as it lives.
class Step {
 public:
  explicit Step(int count) {
    const processes::ProgramStart sleeper{
        .program = "/bin/sleep",
        .arguments = {"600"},
        .environment =
            std::vector<std::string>{"SLURM_JOB_ID=" + std::to_string(job), "SLURM_STEP_ID=3"}};
    for (int i = 0; i < count; ++i) {
      auto process = processes::ChildProcess::start(sleeper);
      if (!process) give_up(process.error().message);
      processes_.push_back(std::move(*process));
    }
  }

 private:
  std::vector<processes::ChildProcess> processes_;
};

/// A job has one hook with the option, so nothing that an earlier one has started is still running
/// when the next is measured. This process has no other children then.
void wait_for_what_was_started() {
  while (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
  }
}

template <typename Work, typename After>
Round timed(const TickRate& rate, Work work, After after) {
  return [&rate, work, after]() -> Result<std::vector<double>> {
    std::vector<double> microseconds;
    for (int i = 0; i < calls_per_round; ++i) {
      const std::uint64_t before = ticks_now();
      work();
      microseconds.push_back(static_cast<double>(rate.duration(ticks_now() - before).count()) /
                             1e3);
      after();
    }
    return microseconds;
  };
}
template <typename Work>
Round timed(const TickRate& rate, Work work) {
  return timed(rate, work, [] {});
}

constexpr Target under_a_millisecond{Target::Direction::at_most, 1000};

void measure_hooks(Bench& bench, const TickRate& rate) {
  const Plugin plugin;
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) give_up("this kernel gives orphans to init only");
  bench.measure({.row = "hooks of a job without the option",
                 .unit = "us",
                 .round = timed(rate,
                                [&plugin] {
                                  plugin.init();
                                  plugin.task_init();
                                }),
                 .promises = {{Statistic::p99, under_a_millisecond}}});
  bench.measure({.row = "hooks of a job with the option",
                 .unit = "us",
                 .round = timed(
                     rate,
                     [&plugin] {
                       plugin.init();
                       if (slurm.option->cb(0, "cores:4,mem:8G", 1) != 0)
                         give_up("the option was refused");
                       plugin.task_init();
                     },
                     wait_for_what_was_started),
                 .promises = {{Statistic::p99, under_a_millisecond}}});
}

void measure_looks(Bench& bench, const TickRate& rate) {
  const Step step(100);
  const CoreList cores = first_numbers(4);
  share::JobProcesses processes({.job = job, .node = "n1", .own_step = "0", .job_cores = cores});
  share::CoreUsage usage(cores);
  share::ShareOffer offer(cores, 0);
  const auto look = [&] {
    const auto now = std::chrono::steady_clock::now();
    const auto found = processes.look(now);
    (void)offer.decide(now, usage.look(now, found));
    return found.size();
  };
  const auto give_up_at = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (look() < 100 || processes.worth_a_look(std::chrono::steady_clock::now()))
    if (std::chrono::steady_clock::now() > give_up_at) give_up("not all processes are seen");
  bench.measure({.row = "whether anybody was started",
                 .unit = "us",
                 .round = timed(
                     rate, [&] { (void)processes.worth_a_look(std::chrono::steady_clock::now()); }),
                 .promises = {}});
  bench.measure({.row = "a look at a job of 100 processes",
                 .unit = "us",
                 .round = timed(rate, [&] { (void)look(); }),
                 .promises = {}});
}

}  // namespace
}  // namespace orchid::bench

// What the plugin finds in the program that loads it.
extern "C" {
spank_context_t spank_context(void) { return orchid::bench::slurm.context; }
spank_err_t spank_option_register(spank_t, struct spank_option* option) {
  orchid::bench::slurm.option = option;
  return static_cast<spank_err_t>(ESPANK_SUCCESS);
}
spank_err_t spank_get_item(spank_t, spank_item_t item, ...) {
  va_list rest;
  va_start(rest, item);
  if (item == S_JOB_STEPID)
    *va_arg(rest, std::uint32_t*) = SLURM_BATCH_SCRIPT;
  else if (item == S_JOB_ENV)
    *va_arg(rest, char***) = const_cast<char**>(orchid::bench::slurm.environment.data());
  va_end(rest);
  return static_cast<spank_err_t>(ESPANK_SUCCESS);
}
void slurm_error(const char* format, ...) {
  va_list rest;
  va_start(rest, format);
  std::vfprintf(stderr, format, rest);
  va_end(rest);
}
}

int main(int argc, char** argv) {
  using namespace orchid::bench;
  Bench bench{"share_cost", argc, argv};
  const orchid::TickRate rate = orchid::TickRate::measure();
  measure_hooks(bench, rate);
  measure_looks(bench, rate);
  return bench.report();
}
