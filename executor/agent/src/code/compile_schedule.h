// code/compile_schedule.h: which module is compiled when, by which compiler process, and how many
// such processes there are. Decisions only: no clock, no process.
//
// Each tenant has processes of his own: one for modules that a call waits for, one that makes
// better code behind them. A compilation gets a slice of time there. When that is over, its process
// goes on with it behind everybody else (it is *late* then), and another one takes its place, so
// that nobody waits for a long compilation for more than a slice.
#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "foundation/clock.h"
#include "foundation/units.h"
#include "processes/restart_policy.h"

namespace orchid::executor {

/// Of a process: what it compiles for, and so how it stands to the others.
enum class CompileRank : std::uint8_t {
  calls,   // calls wait for the code
  better,  // quick code runs meanwhile
  late,    // one of these has used up its slice
};

/// Pure. Owned by the agent's thread.
class CompileSchedule {
 public:
  using Tenant = std::uint32_t;  // a uid
  using Job = std::uint64_t;
  using Process = std::uint64_t;

  struct Options {
    /// Of a module that calls wait for: more than ten times what a small one takes, and three times
    /// what a new process does.
    std::chrono::milliseconds slice{100};
    std::chrono::milliseconds better_slice{1'000};
    unsigned at_once = 2;    // of each rank but `late`, within their slices; one for each tenant
    unsigned most_late = 4;  // for each tenant one of each purpose
    unsigned most_processes = 12;
    std::chrono::milliseconds idle{60'000};  // then a process ends
    /// Whose processes are always there; nothing: a tenant's are made when he needs them.
    std::optional<Tenant> resident;
  };
  struct Action {
    enum class Kind : std::uint8_t {
      start,  // make a process of that number and rank; `ready` or `ended` follows
      run,    // it is idle, and gets this job; `finished` or `ended` follows
      defer,  // it goes on with its job, behind everybody else
      stop,   // end it; `ended` follows
    };
    Kind kind = Kind::start;
    Process process = 0;
    CompileRank rank = CompileRank::calls;
    CompileRank purpose = CompileRank::calls;  // `defer` and late ones: the rank before
    Job job = 0;
  };

  explicit CompileSchedule(Options options);

  /// A module of `size` bytes is to be compiled. Small ones go first: each MiB counts as if it had
  /// come a fifth of a second later.
  Job add(Tenant tenant, CompileRank purpose, ByteCount size, MonotonicTime now);
  /// That process has started.
  void ready(Process process, MonotonicTime now);
  /// Its job is done, well or not.
  void finished(Process process, MonotonicTime now);
  /// It is gone. Its job waits again, unless `finished` was said before. If it has ended by itself
  /// and never had a job, none is started for a while: the next would end, too.
  void ended(Process process, MonotonicTime now);
  /// No process is started, and all end, until it is false again.
  void pause(bool paused) { paused_ = paused; }

  /// What is to be done now, in this order. To be asked after each of the above, and at `due`.
  [[nodiscard]] std::vector<Action> decide(MonotonicTime now);
  [[nodiscard]] MonotonicTime due() const;  // max: when something else happens

  [[nodiscard]] std::size_t waiting() const;  // jobs without a process
  [[nodiscard]] std::size_t waiting(Tenant tenant, CompileRank purpose) const;
  [[nodiscard]] std::size_t processes() const { return processes_.size(); }
  [[nodiscard]] std::uint64_t slices_over() const { return slices_over_; }
  /// Of the process that compiles it; nothing: it waits.
  [[nodiscard]] std::optional<Process> process_of(Job job) const;

 private:
  enum class State : std::uint8_t { starting, idle, busy, ending };
  struct Compiler {
    CompileRank rank;
    CompileRank purpose;           // the rank before it was late
    std::optional<Tenant> tenant;  // nothing: it has seen no module, and is anybody's
    State state = State::starting;
    bool had_job = false;
    Job job = 0;            // when it is busy
    MonotonicTime since;    // of the state
    MonotonicTime charged;  // up to then
  };
  struct Waiter {
    Tenant tenant = 0;
    CompileRank purpose = CompileRank::calls;
    bool late = false;
    std::pair<MonotonicTime, Job> place;  // earlier ones go first
    Process process = 0;                  // 0: it waits
  };
  using Queue = std::set<std::pair<MonotonicTime, Job>>;
  struct Account {
    std::array<Queue, 3> waiting;      // by rank
    std::chrono::nanoseconds used{0};  // by his jobs
    [[nodiscard]] bool waits() const;
  };
  using Compilers = std::map<Process, Compiler>;

  void charge(MonotonicTime now);
  void forget_tenants();
  void wait(Job job);
  [[nodiscard]] std::chrono::milliseconds slice_of(CompileRank rank) const;
  [[nodiscard]] bool may_be_late(Tenant tenant, CompileRank purpose) const;
  [[nodiscard]] bool is_wanted(CompileRank rank, const Compiler& except) const;
  [[nodiscard]] std::vector<Tenant> by_use(CompileRank rank) const;
  [[nodiscard]] bool is_kept(const Compiler& compiler) const;
  void end_slices(MonotonicTime now);
  void serve(CompileRank rank, MonotonicTime now);
  void serve_late(MonotonicTime now);
  [[nodiscard]] Compilers::iterator find_compiler(CompileRank rank, Tenant tenant);
  void keep_ready(MonotonicTime now);
  void end_idle(MonotonicTime now);
  void run(Compilers::iterator compiler, Job job, MonotonicTime now);
  void stop(Compilers::iterator compiler, MonotonicTime now);
  void make_room(MonotonicTime now);
  bool start(const Compiler& compiler, MonotonicTime now);

  Options options_;
  std::map<Tenant, Account> accounts_;  // of those who have jobs or processes
  std::map<Job, Waiter> jobs_;
  Compilers processes_;
  std::vector<Action> actions_;
  Job next_job_ = 1;
  Process next_process_ = 1;
  std::uint64_t slices_over_ = 0;
  processes::Restarts vain_starts_;  // of processes that ended before they had a job
  MonotonicTime start_from_;
  bool start_held_ = false;  // one could not be started for that
  bool ever_ready_ = false;
  bool paused_ = false;
};

}  // namespace orchid::executor
