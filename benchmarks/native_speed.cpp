// benchmarks/native_speed.cpp: does a function run as fast as the same source compiled for this
// machine, and what does an idle worker weigh?
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>
#include <sstream>

#include "foundation/files.h"
#include "harness/bench.h"
#include "harness/machine.h"
#include "local_orchid.h"
#include "orchid/client.h"

namespace orchid::bench {
namespace {

constexpr int calls_per_round = 3;
constexpr std::size_t matrix_size = 384;

std::string name_of(pid_t process) {
  const auto name = read_file("/proc/" + std::to_string(process) + "/comm", 4_KiB);
  return name ? std::string(as_text(*name)) : std::string();
}

/// PSS of each worker that waits for its first call.
Result<std::vector<double>> worker_sizes(const tests::LocalOrchid& orchid) {
  std::vector<double> sizes;
  for (const pid_t process : orchid.processes()) {
    if (name_of(process) != "orchid-worker\n") continue;
    auto size = proportional_memory_of(process);
    if (!size) return fail(std::move(size.error()));
    sizes.push_back(static_cast<double>(size->value) / 1e6);
  }
  if (sizes.empty()) return fail(ErrorCode::not_found, "no worker is waiting");
  return sizes;
}

/// What a native program printed: the time of each round in nanoseconds.
Result<std::vector<double>> native_round(std::vector<std::string> command) {
  auto printed = output_of({.command = std::move(command)}, std::chrono::seconds(60));
  if (!printed) return fail(std::move(printed.error()));
  std::vector<double> values;
  std::istringstream lines(*printed);
  for (double nanoseconds = 0; lines >> nanoseconds;) values.push_back(nanoseconds / 1e6);
  return values;
}

/// The time inside the function, of each of a round's calls.
Result<std::vector<double>> orchid_round(Client& client, const std::string& function,
                                         std::span<const std::byte> input) {
  std::vector<double> values;
  try {
    for (int i = 0; i < calls_per_round; ++i) {
      const Reply reply = client.invoke(function, input);
      values.push_back(std::chrono::duration<double, std::milli>(reply.timing.run).count());
    }
  } catch (const std::exception& error) {
    return fail(ErrorCode::internal, error.what());
  }
  return values;
}

void compare_matmul(Bench& bench, Client& client) {
  const std::vector<double> matrices(2UL * matrix_size * matrix_size, 1.5);
  client.deploy_file("matmul", MATMUL_MODULE);
  const std::vector<std::string> native{PROGRAMS "/matmul-native", std::to_string(calls_per_round),
                                        std::to_string(matrix_size)};
  bench.compare(
      {.row = "matrix product, 384 x 384",
       .unit = "ms",
       .round = [&] { return orchid_round(client, "matmul", std::as_bytes(std::span(matrices))); },
       .baseline = {"clang++-19 -O3 -march=native", "matmul-native 3 384", ""},
       .baseline_round = [&] { return native_round(native); },
       .promises = {{Statistic::p50, {Target::Direction::at_most, 1.05}}}});
}

int run(Bench& bench) {
  auto orchid = tests::LocalOrchid::start(PROGRAMS);
  if (!orchid) {
    std::fprintf(stderr, "native_speed: %s\n", orchid.error().message.c_str());
    return 3;
  }
  bench.measure({.row = "idle worker, PSS",
                 .unit = "MB",
                 .round = [&] { return worker_sizes(*orchid); },
                 .promises = {{Statistic::p50, {Target::Direction::at_most, 6}}}});
  std::string pattern = "/tmp/orchid-native-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) return 3;
  const std::filesystem::path directory = pattern;
  const std::string options = directory / "options.bin";
  if (!output_of({.command = {PROGRAMS "/blackscholes-generate", "1", "1000000", options}},
                 std::chrono::seconds(60)))
    return 3;
  const auto input = read_file(options, 64_MiB);
  if (!input) return 3;
  Client client({.gateway = orchid->address(), .token = orchid->token()});
  client.deploy_file("blackscholes", FUNCTIONS "/blackscholes.bc");
  bench.compare({.row = "Black-Scholes, 1 M options",
                 .unit = "ms",
                 .round = [&] { return orchid_round(client, "blackscholes", *input); },
                 .baseline = {"clang++-19 -O3 -march=native",
                              "blackscholes-native --rounds 3 options.bin prices.bin", ""},
                 .baseline_round =
                     [&] {
                       return native_round({PROGRAMS "/blackscholes-native", "--rounds",
                                            std::to_string(calls_per_round), options,
                                            directory / "prices.bin"});
                     },
                 .promises = {{Statistic::p50, {Target::Direction::at_most, 1.05}}}});
  std::filesystem::remove_all(directory);
  compare_matmul(bench, client);
  return bench.report();
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  orchid::bench::Bench bench("native_speed", argc, argv);
  try {
    return orchid::bench::run(bench);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "native_speed: %s\n", error.what());
    return 3;
  }
}
