// benchmarks/offload_mpi.cpp: what does it cost an MPI program that it may offload?
//
// Two ranks on two cores compute the same integral round by round (functions/integral), alone and
// with a pool that looks for workers: where there is no gateway, and where there is one whose
// workers have nothing but the same two cores. What counts is how long the program takes, from the
// end of MPI_Init on: 300 rounds, some 3 s, with the pool's start, the rounds in which it finds its
// workers, and its end. (The median of the rounds, which knows nothing of these, was what counted
// before.)
//
// Then as a batch job, under a real Slurm: a rank has one core of a node with two. (Two ranks on
// one core would measure how they wait for each other.) On the other core a pilot starts, is
// preempted by another batch job 3 s later, and comes again every 5 s, as long as the program runs.
// In the control the same jobs come and go at the same times, with `sleep` in the pilot's place.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <thread>

#include "batch_cluster.h"
#include "cluster_pilots.h"
#include "foundation/files.h"
#include "foundation/units.h"
#include "harness/bench.h"
#include "harness/child_process.h"
#include "local_orchid.h"
#include "lone_gateway.h"

namespace orchid::bench {
namespace {

using namespace std::chrono_literals;

/// A directory without anything in it, in which a program finds no Orchid.
class EmptyHome {
 public:
  EmptyHome() : path_("/tmp/orchid-bench-XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  EmptyHome(const EmptyHome&) = delete;
  EmptyHome& operator=(const EmptyHome&) = delete;
  ~EmptyHome() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

constexpr const char* slices = "20000";
constexpr const char* points = "1000";
constexpr const char* rounds = "300";

/// "all rounds alike, in 6.7 s", in seconds.
Result<std::vector<double>> time_in(const std::string& output) {
  constexpr std::string_view alike = "all rounds alike, in ";
  const std::size_t at = output.find(alike);
  if (at == std::string::npos)
    return fail(ErrorCode::internal, "the program did not end well: " + output);
  return std::vector{std::strtod(output.c_str() + at + alike.size(), nullptr)};
}

class Program {
 public:
  explicit Program(std::string home) : home_(std::move(home)) {}

  [[nodiscard]] static std::vector<std::string> command(bool alone) {
    const std::string program = std::string(PROGRAMS) + "/integral-mpi";
    std::vector<std::string> words{
        MPIRUN, "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", "2", program};
    if (alone) words.emplace_back("--alone");
    for (const char* word : {slices, points, rounds}) words.emplace_back(word);
    return words;
  }
  void use(const tests::LocalOrchid& orchid) {
    gateway_ = {"ORCHID_GATEWAY=" + orchid.address(), "ORCHID_TOKEN=" + orchid.token()};
  }
  [[nodiscard]] Result<std::vector<double>> run(bool alone) const {
    ChildProcess::Options options{.command = command(alone), .environment = gateway_};
    for (const char* name : {"HOME=", "XDG_RUNTIME_DIR=", "XDG_STATE_HOME=", "TMPDIR="})
      options.environment.push_back(name + home_);
    auto output = output_of(options, 120s);
    if (!output) return fail(std::move(output.error()));
    return time_in(*output);
  }

 private:
  std::string home_;
  std::vector<std::string> gateway_;
};

void compare(Bench& bench, const Program& program, const char* row) {
  std::string told;
  for (const std::string& word : Program::command(true)) told += (told.empty() ? "" : " ") + word;
  bench.compare({.row = row,
                 .unit = "s",
                 .round = [&] { return program.run(false); },
                 .baseline = {"the same program with --alone", told, ""},
                 .baseline_round = [&] { return program.run(true); },
                 .promises = {{Statistic::p50, {Target::Direction::at_most, 1.02}}}});
}

/// The program as a batch job, among jobs that come and go on the node's other core.
class BatchRuns {
 public:
  [[nodiscard]] static Result<std::unique_ptr<BatchRuns>> start(const std::string& home) {
    auto cluster = BatchCluster::start(
        {.nodes = 1, .cores = 2, .scheduler_parameters = "batch_sched_delay=0,bf_interval=30"});
    if (!cluster) return fail(std::move(cluster.error()));
    auto gateway = LoneGateway::start((*cluster)->directory(), "127.0.0.1:0");
    if (!gateway) return fail(std::move(gateway.error()));
    return std::make_unique<BatchRuns>(std::move(*cluster), std::move(*gateway), home);
  }
  BatchRuns(std::unique_ptr<BatchCluster> cluster, LoneGateway gateway, std::string home)
      : cluster_(std::move(cluster)),
        gateway_(std::move(gateway)),
        pilots_(*cluster_, {.socket = gateway_.socket(), .host_and_port = gateway_.host_and_port()},
                gateway_.client()),
        home_(std::move(home)) {}

  /// How long the program has taken, in seconds.
  [[nodiscard]] Result<std::vector<double>> run(bool alone) {
    std::error_code ignored;
    std::filesystem::remove(status(), ignored);
    if (auto submitted = submit(alone); !submitted) return fail(submitted.error());
    while (!std::filesystem::exists(status()))
      if (auto turn = another_turn(alone); !turn) return fail(turn.error());
    if (auto left = cluster_->run({"scancel", "--user", "root"}); !left) return fail(left.error());
    if (auto empty = cluster_->wait_until_empty(); !empty) return fail(empty.error());
    const auto content = read_file(output(), 1_MiB);
    if (!content) return fail(content.error());
    return time_in(std::string(as_text(*content)));
  }

 private:
  /// Within a turn; a pilot is there after one second or two.
  static constexpr auto preempted_after = 3s;
  static constexpr auto turn = 5s;
  [[nodiscard]] std::filesystem::path status() const { return cluster_->directory() / "status"; }
  [[nodiscard]] std::filesystem::path output() const { return cluster_->directory() / "out"; }

  [[nodiscard]] Result<void> submit(bool alone) {
    std::string mpirun = fmt::format(
        "{} --allow-run-as-root --oversubscribe --bind-to none --mca ras ^slurm --mca plm ^slurm "
        "-n 1 {}/integral-mpi {}{} {} {}",
        MPIRUN, PROGRAMS, alone ? "--alone " : "", slices, points, rounds);
    const auto job = cluster_->submit(
        {"--partition=batch", "--ntasks=1"},
        fmt::format("export HOME={0} XDG_RUNTIME_DIR={0} XDG_STATE_HOME={0} TMPDIR={0}\n"
                    "export ORCHID_GATEWAY={1} ORCHID_TOKEN={2}\n"
                    "core=$(scontrol show job --details $SLURM_JOB_ID | "
                    "sed -n 's/.* CPU_IDs=\\([0-9]*\\) .*/\\1/p')\n"
                    "taskset --cpu-list $core {3} > {4} 2>&1\n"
                    "echo $? > {5}.new; mv {5}.new {5}\n",
                    home_, gateway_.url(), gateway_.token(), mpirun, output().string(),
                    status().string()));
    if (!job) return fail(job.error());
    return {};
  }
  /// A pilot, or a job in its place, comes and is preempted, both at the same times.
  [[nodiscard]] Result<void> another_turn(bool alone) {
    const auto begun = std::chrono::steady_clock::now();
    if (auto filled = alone ? pilots_.start_sleep(1) : pilots_.start(1); !filled) return filled;
    if (ends_before(begun + preempted_after)) return {};
    const auto job = cluster_->submit({"--partition=batch", "--ntasks=1"}, "exec sleep 1\n");
    if (!job) return fail(job.error());
    (void)ends_before(begun + turn);
    return {};
  }
  /// The program does.
  [[nodiscard]] bool ends_before(std::chrono::steady_clock::time_point until) const {
    while (!std::filesystem::exists(status())) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::sleep_for(10ms);
    }
    return true;
  }

  std::unique_ptr<BatchCluster> cluster_;
  LoneGateway gateway_;
  ClusterPilots pilots_;
  std::string home_;
};

int failed(const Failure& why) {
  std::fprintf(stderr, "offload_mpi: %s\n", why.message.c_str());
  return 3;
}

int run(Bench& bench) {
  const EmptyHome home;
  Program program(home.path());
  compare(bench, program, "two MPI ranks, no gateway");
  {
    auto orchid = tests::LocalOrchid::start(PROGRAMS);
    if (!orchid) return failed(orchid.error());
    program.use(*orchid);
    compare(bench, program, "the same with workers on the same cores");
  }
  auto batch = BatchRuns::start(home.path());
  if (!batch) return failed(batch.error());
  bench.compare({.row = "a batch job of one rank, pilots come and are preempted",
                 .unit = "s",
                 .round = [&] { return (*batch)->run(false); },
                 .baseline = {"the same job with --alone", bench.command_line(), ""},
                 .baseline_round = [&] { return (*batch)->run(true); },
                 .promises = {{Statistic::p50, {Target::Direction::at_most, 1.02}}}});
  return bench.report();
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  orchid::bench::Bench bench("offload_mpi", argc, argv);
  return orchid::bench::run(bench);
}
