// benchmarks/offload_mpi.cpp: what does it cost an MPI program that it may offload?
//
// Two ranks on two cores compute the same integral round by round (functions/integral), alone and
// with a pool that looks for workers: where there is no gateway, and where there is one whose
// workers have nothing but the same two cores. Whole programs under mpirun; the first rounds of
// each, in which the pool finds its workers, are counted like all others.
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "harness/bench.h"
#include "harness/child_process.h"
#include "local_orchid.h"

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

/// "round 3: pi …, 0.021 s" of each round, in milliseconds.
Result<std::vector<double>> times_in(const std::string& output) {
  std::vector<double> times;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("round ") || !line.ends_with(" s")) continue;
    const std::size_t number = line.rfind(", ") + 2;
    times.push_back(std::strtod(line.c_str() + number, nullptr) * 1000);
  }
  if (times.empty()) return fail(ErrorCode::internal, "the program told no round: " + output);
  return times;
}

class Program {
 public:
  explicit Program(std::string home) : home_(std::move(home)) {}

  [[nodiscard]] static std::vector<std::string> command(bool alone) {
    const std::string program = std::string(PROGRAMS) + "/integral-mpi";
    std::vector<std::string> words{
        MPIRUN, "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", "2", program};
    if (alone) words.emplace_back("--alone");
    for (const char* word : {"20000", "1000", "40"}) words.emplace_back(word);
    return words;
  }
  void use(const tests::LocalOrchid& orchid) {
    gateway_ = {"ORCHID_GATEWAY=" + orchid.address(), "ORCHID_TOKEN=" + orchid.token()};
  }
  [[nodiscard]] Result<std::vector<double>> run(bool alone) const {
    ChildProcess::Options options{.command = command(alone), .environment = gateway_};
    for (const char* name : {"HOME=", "XDG_RUNTIME_DIR=", "XDG_STATE_HOME=", "TMPDIR="})
      options.environment.push_back(name + home_);
    auto output = output_of(options, 60s);
    if (!output) return fail(std::move(output.error()));
    return times_in(*output);
  }

 private:
  std::string home_;
  std::vector<std::string> gateway_;
};

void compare(Bench& bench, const Program& program, const char* row) {
  std::string told;
  for (const std::string& word : Program::command(true)) told += (told.empty() ? "" : " ") + word;
  bench.compare({.row = row,
                 .unit = "ms",
                 .round = [&] { return program.run(false); },
                 .baseline = {"the same program with --alone", told, ""},
                 .baseline_round = [&] { return program.run(true); },
                 .promises = {{Statistic::p50, {Target::Direction::at_most, 1.02}}}});
}

int run(Bench& bench) {
  const EmptyHome home;
  Program program(home.path());
  compare(bench, program, "a round of two MPI ranks, no gateway");
  auto orchid = tests::LocalOrchid::start(PROGRAMS);
  if (!orchid) {
    std::fprintf(stderr, "offload_mpi: %s\n", orchid.error().message.c_str());
    return 3;
  }
  program.use(*orchid);
  compare(bench, program, "the same with workers on the same cores");
  return bench.report();
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  orchid::bench::Bench bench("offload_mpi", argc, argv);
  return orchid::bench::run(bench);
}
