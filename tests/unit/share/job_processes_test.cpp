// With real processes: what is read is what the kernel says.
#include "share/job_processes.h"

#include <doctest/doctest.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "processes/child_process.h"

namespace orchid::share {
namespace {

using namespace std::chrono_literals;

CoreList own_cores() {
  cpu_set_t mask;
  REQUIRE(::sched_getaffinity(0, sizeof(mask), &mask) == 0);
  CoreList cores;
  for (std::uint32_t core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &mask)) cores.push_back(core);
  return cores;
}

/// /bin/sleep with such an environment; ends with its object.
class Sleeper {
 public:
  explicit Sleeper(std::vector<std::string> environment, std::optional<std::uint32_t> core = {},
                   const char* title = "/bin/sleep") {
    processes::ProgramStart program{.program = "/bin/sleep",
                                    .arguments = {"60"},
                                    .name = title,
                                    .environment = std::move(environment)};
    if (core) program.last_step = {.run = bind_to, .context = &*core};
    auto started = processes::ChildProcess::start(program);
    REQUIRE(started.has_value());
    process_.emplace(std::move(*started));
  }
  [[nodiscard]] pid_t pid() const { return process_->pid(); }

 private:
  static const char* bind_to(const void* core) noexcept {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    CPU_SET(*static_cast<const std::uint32_t*>(core), &mask);
    return ::sched_setaffinity(0, sizeof(mask), &mask) == 0 ? nullptr : "binding it";
  }
  std::optional<processes::ChildProcess> process_;
};

/// Looks until that process is seen; the exec may take a moment.
std::optional<StepProcess> find(JobProcesses& processes, pid_t pid) {
  const auto give_up = std::chrono::steady_clock::now() + 10s;
  while (std::chrono::steady_clock::now() < give_up) {
    const auto all = processes.look(std::chrono::steady_clock::now());
    const auto found = std::ranges::find(all, pid, &StepProcess::pid);
    if (found != all.end()) return *found;
  }
  return std::nullopt;
}

}  // namespace

TEST_CASE("processes of a job are found by the environment that Slurm gives them") {
  const CoreList cores = own_cores();
  JobProcesses processes({.job = 4'000'017, .node = "n1", .own_step = "0", .job_cores = cores});
  const Sleeper step(
      {"SLURM_JOB_ID=4000017", "SLURM_STEP_ID=3", "SLURMD_NODENAME=n1", "SLURM_CPUS_ON_NODE=2"},
      cores.front());
  const Sleeper script({"SLURM_JOB_ID=4000017", "SLURMD_NODENAME=n1"});
  const Sleeper share({"SLURM_JOB_ID=4000017", "SLURM_STEP_ID=0", "SLURMD_NODENAME=n1"});
  const Sleeper elsewhere({"SLURM_JOB_ID=4000017", "SLURM_STEP_ID=3", "SLURMD_NODENAME=n2"});
  const Sleeper other({"SLURM_JOB_ID=4000018", "SLURM_STEP_ID=3", "SLURMD_NODENAME=n1"});

  const auto found = find(processes, step.pid());
  REQUIRE(found.has_value());
  CHECK(found->step == "3");
  CHECK(found->step_cpus == 2);
  if (cores.size() > 1) {
    CHECK(found->bound == CoreList{cores.front()});
    CHECK_FALSE(found->loose);
  }
  const auto loose = find(processes, script.pid());
  REQUIRE(loose.has_value());
  CHECK(loose->step.empty());
  CHECK(loose->loose);
  for (const StepProcess& process : processes.look(std::chrono::steady_clock::now()))
    CHECK((process.pid == step.pid() || process.pid == script.pid()));
}

TEST_CASE("a process that has ended is not found any more, and one that is new is noticed") {
  JobProcesses processes(
      {.job = 4'000'019, .node = "n1", .own_step = "0", .job_cores = own_cores()});
  {
    const Sleeper step({"SLURM_JOB_ID=4000019", "SLURM_STEP_ID=3"});
    REQUIRE(find(processes, step.pid()).has_value());
  }
  CHECK(processes.look(std::chrono::steady_clock::now()).empty());
  const Sleeper another({"SLURM_JOB_ID=4000019", "SLURM_STEP_ID=4"});
  CHECK(processes.worth_a_look(std::chrono::steady_clock::now()));
}

TEST_CASE("how long a job runs is seen by the processes that look after its steps") {
  const auto age_when = [](bool from_the_start) {
    const auto give_up = std::chrono::steady_clock::now() + 10s;
    std::optional<JobAge> age;
    while (std::chrono::steady_clock::now() < give_up &&
           (!age || age->from_the_start != from_the_start))
      age = age_of_job(4'000'021);
    return age;
  };
  CHECK_FALSE(age_of_job(4'000'021).has_value());
  const Sleeper other({}, {}, "slurmstepd: [4000022.batch]");
  const Sleeper step({}, {}, "slurmstepd: [4000021.3]");
  const auto of_step = age_when(false);
  REQUIRE(of_step.has_value());
  CHECK(of_step->at_least < 10s);
  const Sleeper script({}, {}, "slurmstepd: [4000021.batch]");
  CHECK(age_when(true)->from_the_start);
}

TEST_CASE("what Slurm says of a step is read from an environment") {
  using namespace std::string_view_literals;
  CHECK(parse_step_environment("A=1\0SLURM_JOB_ID=17\0SLURM_STEP_ID=3\0SLURMD_NODENAME=n1\0"
                               "SLURM_CPUS_ON_NODE=4\0"sv) ==
        StepEnvironment{.job = 17, .step = "3", .node = "n1", .cpus = 4});
  CHECK(parse_step_environment("SLURM_JOB_ID=17"sv) == StepEnvironment{.job = 17});
  CHECK(parse_step_environment("XSLURM_JOB_ID=17\0"sv).job == 0);
  CHECK(parse_step_environment("SLURM_JOB_ID=x\0"sv).job == 0);
  CHECK(parse_step_environment("").job == 0);
}

TEST_CASE("a step is known by the title of the process that looks after it") {
  CHECK(parse_step_title("slurmstepd: [17.3]") == StepEnvironment{.job = 17, .step = "3"});
  CHECK(parse_step_title("slurmstepd: [17.batch]") == StepEnvironment{.job = 17, .step = ""});
  CHECK_FALSE(parse_step_title("/usr/sbin/slurmd").has_value());
  CHECK_FALSE(parse_step_title("slurmstepd: [").has_value());
}

}  // namespace orchid::share
