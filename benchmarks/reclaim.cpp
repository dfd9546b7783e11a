// benchmarks/reclaim.cpp: how much later does a batch job start when Orchid's calls have its cores?
//
// A real slurmctld and a real slurmd with one node, as large as this machine (two cores of it). The
// partition of preemptible jobs is filled; then a batch job that needs all of the node is
// submitted, and the first thing that its script does is to say what time it is. What fills the
// partition:
//
// - a pilot in whose workers calls run without a pause, from this program, over the lane between
//   hosts: calls that compute; calls that wait; calls that compute in workers with 2 GiB each,
//   which the kernel has to take back before the cores are free; the same with a cap of memory
//   bandwidth, for which workers have small pages (decision 0016); calls that compute on a node
//   that keeps a data object of 1 GiB, whose pages have to be given back, too;
// - in the control a job whose step is `sleep`, started as a pilot's is, which SIGTERM ends;
// - the control again, for the A/A row.
//
// Each round has all of them, in rotating order. What is judged is the 95th percentile of the
// rounds' differences. slurmctld looks at a job that has to preempt others with its next pass,
// which comes once a second at a time of its own: so that this lottery is no part of the
// differences, the batch job is submitted 0.3 s before the next pass is due, as the one before has
// shown, and time runs from slurmctld's decision (the millisecond in its log); other rows have it
// from the submission. GraceTime is 0. Of slurmctld's settings these matter: batch_sched_delay=0,
// or it would wait up to 3 s for more batch jobs; sched_min_interval at its default of 2 us, since
// the 100 ms that ./dev cluster has would hold up whoever leaves quickly; backfill runs every 30 s,
// as it does by default. slurmctld, which on a cluster has a machine of its own, has the highest
// priority here.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <thread>

#include "batch_cluster.h"
#include "cluster_pilots.h"
#include "harness/bench.h"
#include "local_orchid.h"
#include "orchid/client.h"
#include "orchid/lease.h"
#include "start_up.h"

namespace orchid::bench {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;
using std::chrono::system_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

constexpr unsigned cores = 2;
constexpr const char* node = "n1";
constexpr auto patience = 30s;
constexpr auto look_again = 20ms;
constexpr double before_the_pass_s = 0.3;
constexpr double most_later_ms = 150;
/// Above that the machine says nothing about the promise.
constexpr double fair_self_difference_ms = most_later_ms / 2;
constexpr std::uint64_t bootstrap_seed = 20'000;
constexpr const char* scheduler = "batch_sched_delay=0,bf_interval=30";

constexpr ByteCount held_memory = 2_GiB;
constexpr ByteCount worker_memory = 2304_MiB;
constexpr ByteCount pilot_memory{worker_memory.value * cores};
constexpr ByteCount data_memory = 1_GiB;
constexpr const char* data_name = "kept";
/// A cap that holds nobody.
constexpr ByteCount no_obstacle = 1024_GiB;

/// What the workers of a pilot do.
struct Work {
  std::string function;
  std::string input;
  ByteCount memory{};  // of a worker; 0: what the site gives
  std::optional<ByteCount> bandwidth_cap{};
  bool beside_data = false;  // the node has `data_name`
};

/// Of one batch job.
struct Start {
  double from_decision_ms = 0;
  double from_submission_ms = 0;
};

/// Calls without a pause on all workers of a lease; they end when it does.
class Calls {
 public:
  Calls(Client& client, const Work& work)
      : lease_(client.lease({.workers = cores,
                             .memory = work.memory.value,
                             .within = patience,
                             .constraints = {.host = node}})) {
    const LeasedFunction leased = lease_.function(work.function);
    for (unsigned i = 0; i < cores; ++i)
      callers_.emplace_back(
          [this, leased, input = work.input] { call_until_the_end(leased, input); });
  }
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;
  ~Calls() { lease_.release(); }

  [[nodiscard]] bool all_run() const { return under_way_ == cores; }
  [[nodiscard]] Result<void> wait_until_running() const {
    const auto give_up = steady_clock::now() + patience;
    while (under_way_ < cores) {
      if (steady_clock::now() > give_up) return fail(ErrorCode::timed_out, "no call is answered");
      std::this_thread::sleep_for(look_again);  // not yet measured
    }
    return {};
  }

 private:
  /// Ends with the lease, or, as `all_run` tells, before it.
  void call_until_the_end(const LeasedFunction& leased, const std::string& input) {
    try {
      (void)leased.invoke(input);
      (void)leased.invoke(input);
    } catch (const Error&) {
      return;
    }
    ++under_way_;
    try {
      while (true) (void)leased.invoke(input);
    } catch (const Error&) {
      --under_way_;
    }
  }

  Lease lease_;
  std::atomic<unsigned> under_way_{0};  // callers that have had answers, and still call
  std::vector<std::jthread> callers_;
};

class Bed {
 public:
  Bed(BatchCluster& cluster, const tests::LocalOrchid& orchid)
      : cluster_(cluster),
        client_({.gateway = orchid.address(), .token = orchid.token()}),
        pilots_(cluster,
                {.socket = orchid.runtime() / "gateway.sock",
                 .host_and_port = orchid.address().substr(orchid.address().rfind('/') + 1)},
                client_) {
    for (const char* function : {"spins", "sleeps", "holds_memory"})
      client_.deploy_file(function,
                          std::filesystem::path(TEST_FUNCTIONS) / (std::string(function) + ".bc"));
  }

  [[nodiscard]] Result<Start> beside_calls(const Work& work) {
    PilotExtras extras{.bandwidth_cap = work.bandwidth_cap};
    if (work.memory.value != 0 || work.beside_data) extras.memory = pilot_memory;
    if (auto started = pilots_.start(cores, extras); !started) return fail(started.error());
    try {
      if (work.beside_data)
        if (auto there = bring_data(); !there) return fail(there.error());
      const Calls calls(client_, work);
      if (auto running = calls.wait_until_running(); !running) return fail(running.error());
      wait_for_the_pass();
      if (!calls.all_run()) return fail(ErrorCode::internal, "the calls have ended too soon");
      return batch_job();
    } catch (const Error& error) {
      return fail(ErrorCode::internal, error.what());
    }
  }

  [[nodiscard]] Result<Start> beside_sleep() {
    if (auto started = pilots_.start_sleep(cores); !started) return fail(started.error());
    wait_for_the_pass();
    return batch_job();
  }

 private:
  /// The pilot's executor is the only one that has room for it.
  [[nodiscard]] Result<void> bring_data() {
    (void)client_.put_data(data_name, data_);
    const auto hosts = client_.describe_data(data_name).hosts;
    if (std::ranges::find(hosts, node) == hosts.end())
      return fail(ErrorCode::internal, "the data is on another host");
    return {};
  }

  /// Until shortly before slurmctld's next pass.
  void wait_for_the_pass() const {
    const auto since = [](system_clock::time_point time) {
      return std::chrono::duration<double>(time.time_since_epoch()).count();
    };
    const double ahead = since(pass_) - before_the_pass_s - since(system_clock::now());
    std::this_thread::sleep_for(std::chrono::duration<double>(ahead - std::floor(ahead)));
  }

  [[nodiscard]] Result<Start> batch_job() {
    const auto submitted = system_clock::now();
    const auto job = cluster_.submit(
        {"--partition=batch", fmt::format("--ntasks={}", cores), "--nodes=1"},
        fmt::format("echo ${{EPOCHREALTIME/[^0-9]/}} > {}\n", cluster_.pipe().string()));
    if (!job) return fail(job.error());
    const auto said = cluster_.next_line(patience);
    if (!said) return fail(said.error());
    const system_clock::time_point started{
        std::chrono::microseconds(std::strtoll(said->c_str(), nullptr, 10))};
    const auto decided = cluster_.preempted_for(*job);
    if (!decided) return fail(decided.error());
    pass_ = *decided;
    if (auto empty = cluster_.wait_until_empty(); !empty) return fail(empty.error());
    return Start{.from_decision_ms = Milliseconds(started - *decided).count(),
                 .from_submission_ms = Milliseconds(started - submitted).count()};
  }

  BatchCluster& cluster_;
  Client client_;
  ClusterPilots pilots_;
  std::vector<std::byte> data_ = std::vector<std::byte>(data_memory.value, std::byte{1});
  system_clock::time_point pass_{};  // slurmctld's last, as far as is known
};

enum Filling : std::uint8_t {
  computing,
  waiting,
  holding,
  holding_capped,
  beside_data,
  control,
  control_again,
  fillings
};
using Values = std::vector<double>;
using Starts = std::array<std::vector<Start>, fillings>;

Values values_of(const std::vector<Start>& starts, double Start::* time) {
  Values values;
  for (const Start& start : starts) values.push_back(start.*time);
  return values;
}

Values less(const Values& ours, const Values& theirs) {
  Values differences;
  for (std::size_t i = 0; i < ours.size(); ++i) differences.push_back(ours[i] - theirs[i]);
  return differences;
}

Quantiles quantiles_of(const Values& values) {
  return {percentile(values, 0.5), percentile(values, 0.99)};
}

/// The interval is that of the 95th percentile, and that is what is judged.
Row row_of(const std::string& name, const Values& differences) {
  return {.benchmark = {},
          .row = name,
          .unit = "ms",
          .value = quantiles_of(differences),
          .baseline = {},
          .ratio = {},
          .interval = bootstrap_percentile(differences, 0.95, bootstrap_seed),
          .target = {}};
}

Row promised(Row row, const Values& differences) {
  const double p95 = percentile(differences, 0.95);
  row.target = Target{Target::Direction::at_most, most_later_ms};
  row.verdict = row.target->met_by({p95, p95}) ? Verdict::met : Verdict::missed;
  return row;
}

Row self(Row row, const Values& differences) {
  // Either way: a control that was slow now and then makes Orchid look good.
  if (percentile(differences, 0.95) > fair_self_difference_ms ||
      percentile(differences, 0.05) < -fair_self_difference_ms)
    row.verdict = Verdict::inconclusive;
  return row;
}

void print_line(const char* what, const Values& values) {
  fmt::print("  {:<44} p50 {:6.0f}, p95 {:6.0f}, max {:6.0f} ms\n", what, percentile(values, 0.5),
             percentile(values, 0.95), *std::ranges::max_element(values));
}

void report(Bench& bench, const Starts& starts) {
  const auto of = [&](Filling filling, double Start::* time) {
    return values_of(starts.at(filling), time);
  };
  for (const auto& [since, time] : {std::pair{"decision", &Start::from_decision_ms},
                                    std::pair{"submission", &Start::from_submission_ms}}) {
    fmt::print("from slurmctld's {} to the batch job's first line:\n", since);
    print_line("beside calls that compute", of(computing, time));
    print_line("beside calls that wait", of(waiting, time));
    print_line("beside calls in workers of 2 GiB", of(holding, time));
    print_line("beside the same with a bandwidth cap", of(holding_capped, time));
    print_line("beside calls and 1 GiB of data objects", of(beside_data, time));
    print_line("beside sleep steps", of(control, time));
    const Values compute = less(of(computing, time), of(control, time));
    const Values wait = less(of(waiting, time), of(control, time));
    const Values hold = less(of(holding, time), of(control, time));
    const Values capped = less(of(holding_capped, time), of(control, time));
    const Values data = less(of(beside_data, time), of(control, time));
    const Values again = less(of(control_again, time), of(control, time));
    print_line("later than beside sleep steps, compute", compute);
    print_line("later than beside sleep steps, wait", wait);
    print_line("later than beside sleep steps, 2 GiB", hold);
    print_line("later than beside sleep steps, 2 GiB, cap", capped);
    print_line("later than beside sleep steps, 1 GiB of data", data);
    print_line("sleep steps against themselves", again);
    const std::string name = std::string(", from ") + since + " on: p95 of the rounds";
    bench.add(promised(row_of("batch job later, calls compute" + name, compute), compute));
    bench.add(promised(row_of("batch job later, calls wait" + name, wait), wait));
    bench.add(promised(row_of("batch job later, workers of 2 GiB" + name, hold), hold));
    bench.add(promised(
        row_of("batch job later, workers of 2 GiB with a bandwidth cap" + name, capped), capped));
    bench.add(promised(row_of("batch job later, 1 GiB of data objects" + name, data), data));
    bench.add(self(row_of("A/A of sleep steps" + name, again), again));
  }
}

Result<Starts> run_rounds(Bed& bed, int rounds) {
  Starts starts;
  const Work heavy{.function = "holds_memory",
                   .input = fmt::format("{} 20", held_memory.value >> 20),
                   .memory = worker_memory};
  Work capped = heavy;
  capped.bandwidth_cap = no_obstacle;
  const std::array<std::function<Result<Start>()>, fillings> turns{
      [&] { return bed.beside_calls({.function = "spins", .input = "20"}); },
      [&] { return bed.beside_calls({.function = "sleeps", .input = "20"}); },
      [&] { return bed.beside_calls(heavy); },
      [&] { return bed.beside_calls(capped); },
      [&] { return bed.beside_calls({.function = "spins", .input = "20", .beside_data = true}); },
      [&] { return bed.beside_sleep(); },
      [&] { return bed.beside_sleep(); }};
  for (std::size_t turn = 0; turn < fillings; ++turn)  // first launches load what later ones find
    if (const auto warm = turns.at(turn)(); !warm) return fail(warm.error());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t turn = 0; turn < fillings; ++turn) {
      const std::size_t next = (turn + static_cast<std::size_t>(round)) % fillings;
      auto start = turns.at(next)();
      if (!start) return fail(std::move(start.error()));
      starts.at(next).push_back(*start);
    }
    if (::isatty(STDERR_FILENO) != 0)
      fmt::print(stderr, "\rreclaim: round {}/{} ", round + 1, rounds);
  }
  if (::isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\n");
  return starts;
}

int run(Bench& bench) {
  auto cluster = BatchCluster::start(
      {.nodes = 1, .cores = cores, .memory = 8_GiB, .scheduler_parameters = scheduler});
  auto orchid = tests::LocalOrchid::start({.programs = PROGRAMS, .data_memory = "1MiB"});
  if (!cluster || !orchid) {
    fmt::print(stderr, "reclaim: {}\n", (cluster ? orchid.error() : cluster.error()).message);
    return 3;
  }
  Bed bed(**cluster, *orchid);
  const auto starts = run_rounds(bed, bench.rounds());
  if (!starts) {
    fmt::print(stderr, "reclaim: {}\n", starts.error().message);
    return 3;
  }
  report(bench, *starts);
  return bench.report();
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  orchid::bench::Bench bench("reclaim", argc, argv);
  return orchid::bench::run(bench);
}
