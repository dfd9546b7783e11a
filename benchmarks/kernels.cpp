// benchmarks/kernels.cpp: are kernels on cores as fast as the same source with OpenMP, and as PoCL?
//
// Orchid's time is that of a whole call over a lease of one worker with all cores: the way there,
// the copies, the launch, and the way back. The rivals' time is that of the loop over the items
// alone. All use the same cores, in turns. What comes out of a rival is compared with what came out
// of Orchid.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <numeric>
#include <sstream>

#include "foundation/files.h"
#include "harness/bench.h"
#include "harness/child_process.h"
#include "harness/machine.h"
#include "kernels/nbody.h"
#include "kernels/work.h"
#include "local_orchid.h"
#include "orchid/client.h"
#include "orchid/lease.h"
#include "scratch_folder.h"

namespace orchid::bench {
namespace {

using Stations = std::vector<interpolation::Station>;
using Bodies = std::vector<nbody::Body>;
using Accelerations = std::vector<nbody::Acceleration>;

constexpr int calls_per_round = 2;
constexpr double tolerance = 1e-5;  // between sums of floats
constexpr auto patience = std::chrono::seconds(120);

struct Task {
  std::string name;  // as the rivals know it
  std::string row;
  std::function<double()> call;  // in Orchid; what came out, as one number
};

Result<std::vector<double>> orchid_round(const Task& task) {
  std::vector<double> values;
  try {
    for (int i = 0; i < calls_per_round; ++i) {
      const auto start = std::chrono::steady_clock::now();
      task.call();
      const std::chrono::duration<double, std::milli> time =
          std::chrono::steady_clock::now() - start;
      values.push_back(time.count());
    }
  } catch (const std::exception& error) {
    return fail(ErrorCode::internal, error.what());
  }
  return values;
}

/// A program that prints what came out, and the time of each round in nanoseconds.
Result<std::vector<double>> rival_round(ChildProcess::Options program, const std::string& name,
                                        double wanted) {
  program.command.push_back(name);
  program.command.push_back(std::to_string(calls_per_round));
  auto printed = output_of(program, patience);
  if (!printed) return fail(std::move(printed.error()));
  std::istringstream lines(*printed);
  double found = 0;
  if (!(lines >> found) || std::abs(found - wanted) > tolerance * std::abs(wanted))
    return fail(ErrorCode::internal, program.command[0] + " computed something else: " + *printed);
  std::vector<double> values;
  for (double nanoseconds = 0; lines >> nanoseconds;) values.push_back(nanoseconds / 1e6);
  return values;
}

class Rivals {
 public:
  Rivals() {
    const std::string cores = std::to_string(allowed_cores().size());
    openmp_.command = {PROGRAMS "/kernels-native"};
    openmp_.environment = {"OMP_NUM_THREADS=" + cores, "OMP_PROC_BIND=true"};
    opencl_.command = {PROGRAMS "/kernels-opencl"};
    opencl_.environment = {"POCL_MAX_PTHREAD_COUNT=" + cores, "POCL_AFFINITY=1",
                           "POCL_CACHE_DIR=" + compiled_.path().string()};
  }

  void compare(Bench& bench, const Task& task) const {
    const double wanted = task.call();  // and its code is made
    compare(bench, task, wanted, openmp_, "clang++-19 -O3 -march=native -fopenmp");
    if (has_opencl_) compare(bench, task, wanted, opencl_, "PoCL");
  }

  /// Says what to install when it is missing.
  void look_for_opencl() {
#ifdef WITH_OPENCL
    ChildProcess::Options program = opencl_;
    program.command.insert(program.command.end(), {"md5", "0"});
    const auto printed = output_of(program, patience);
    has_opencl_ = printed.has_value();
    if (!has_opencl_) std::fprintf(stderr, "kernels: %s\n", printed.error().message.c_str());
#endif
    if (!has_opencl_)
      std::fputs(
          "kernels: there is no PoCL, so the rows against it are left out. What it needs: "
          "apt install pocl-opencl-icd ocl-icd-opencl-dev, and a new configuration of the build\n",
          stderr);
  }

 private:
  static void compare(Bench& bench, const Task& task, double wanted,
                      const ChildProcess::Options& program, const std::string& what) {
    std::string environment;
    for (const std::string& variable : program.environment)
      environment += (environment.empty() ? "" : " ") + variable;
    bench.compare(
        {.row = task.row + ", against " + what,
         .unit = "ms",
         .round = [&] { return orchid_round(task); },
         .baseline = {what,
                      program.command[0] + " " + task.name + " " + std::to_string(calls_per_round),
                      environment},
         .baseline_round = [&] { return rival_round(program, task.name, wanted); },
         .promises = {{Statistic::p50, {Target::Direction::at_most, 1.05}}}});
  }

  tests::Scratch compiled_;
  ChildProcess::Options openmp_;
  ChildProcess::Options opencl_;
  bool has_opencl_ = false;
};

Bodies made_bodies() {
  const std::vector<float> numbers = work::bodies();
  Bodies bodies;
  for (std::size_t i = 0; i < numbers.size(); i += 4)
    bodies.push_back({numbers[i], numbers[i + 1], numbers[i + 2], numbers[i + 3]});
  return bodies;
}

std::vector<Task> tasks_of(Lease& lease) {
  auto idw =
      lease.function<std::vector<float>(interpolation::Grid, std::uint32_t, Stations)>("idw");
  auto md5search = lease.function<std::string(std::string_view, std::string_view, std::uint32_t,
                                              std::string_view)>("md5search");
  auto nbody = lease.function<Accelerations(Bodies, float, Accelerations)>("nbody");
  std::vector<Task> tasks;
  tasks.push_back({.name = "idw",
                   .row = "IDW, 2^29 pairs",
                   .call = [idw, stations = work::stations()]() mutable {
                     const auto values = idw(work::grid, work::power, stations);
                     return std::accumulate(values.begin(), values.end(), 0.0);
                   }});
  tasks.push_back({.name = "md5", .row = "MD5 of 20^5 strings", .call = [md5search]() mutable {
                     const std::string found =
                         md5search(work::last_digest, work::alphabet, work::string_length, "");
                     return found == work::last_string ? double{work::strings_of_item} : 0.0;
                   }});
  tasks.push_back(
      {.name = "nbody",
       .row = "n-body, 2^28 pairs",
       .call = [nbody, bodies = made_bodies(), room = Accelerations(work::body_count)]() mutable {
         double sum = 0;
         for (const auto& one : nbody(bodies, work::softening, room)) sum += std::abs(one.x);
         return sum;
       }});
  return tasks;
}

int run(Bench& bench) {
  auto orchid = tests::LocalOrchid::start(PROGRAMS);
  if (!orchid) {
    std::fprintf(stderr, "kernels: %s\n", orchid.error().message.c_str());
    return 3;
  }
  Client client({.gateway = orchid->address(), .token = orchid->token()});
  client.deploy_file("idw", FUNCTIONS "/idw.bc");
  client.deploy_file("md5search", FUNCTIONS "/md5search.bc");
  client.deploy_file("nbody", NBODY_MODULE);
  // A client that spins while it waits would take a core from its worker.
  Lease lease = client.lease(
      {.cores_per_worker = static_cast<unsigned>(allowed_cores().size()), .wait = Wait::blocking});
  Rivals rivals;
  rivals.look_for_opencl();
  for (const Task& task : tasks_of(lease)) rivals.compare(bench, task);
  return bench.report();
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  orchid::bench::Bench bench("kernels", argc, argv);
  try {
    return orchid::bench::run(bench);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "kernels: %s\n", error.what());
    return 3;
  }
}
