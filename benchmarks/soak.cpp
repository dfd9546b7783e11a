// benchmarks/soak.cpp: does anything go wrong or grow in ten million calls?
//
// Echo of random sizes over both lanes at once, each as fast as it goes, until that many are done;
// a worker is killed every ten seconds: no wrong answer, no lost call, no growth. `--calls N` for
// fewer.
#include <signal.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "foundation/files.h"
#include "foundation/units.h"
#include "harness/machine.h"
#include "local_executor.h"
#include "local_lease.h"

namespace orchid::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t largest = 32U << 20;

struct Lane {
  const char* name;
  Lease lease;
  LeasedFunction echo;
  std::atomic<std::uint64_t> done = 0;
  std::atomic<std::uint64_t> bytes = 0;  // of the inputs; the outputs are the same
  std::atomic<std::uint64_t> large = 0;  // of a MiB and more
  std::atomic<std::uint64_t> wrong = 0;
  std::atomic<std::uint64_t> failed = 0;
  unsigned killed = 0;
};

/// Mostly small; now and then up to a MiB, and one in ten thousand up to the largest.
std::size_t random_size(std::mt19937& random) {
  const unsigned kind = random() % 10'000;
  if (kind < 9'000) return random() % 256;
  if (kind < 9'980) return random() % 8192;
  if (kind < 9'999) return random() % (1U << 20);
  return random() % largest;
}

/// Both lanes take from `left`.
void call_all(Lane& lane, std::atomic<std::int64_t>& left, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> input(largest);
  std::vector<std::byte> output(largest);
  for (std::byte& byte : input) byte = static_cast<std::byte>(random());
  for (; left.fetch_sub(1) > 0; ++lane.done) {
    const std::size_t size = random_size(random);
    const std::size_t at = random() % (input.size() - size + 1);
    const std::span<const std::byte> sent = std::span(input).subspan(at, size);
    lane.bytes += size;
    if (size >= 1U << 20) ++lane.large;
    try {
      const std::size_t got = lane.echo.invoke_into(sent, output);
      if (got != size || std::memcmp(output.data(), sent.data(), size) != 0) ++lane.wrong;
    } catch (const Error& error) {
      std::fprintf(stderr, "soak: %s\n", error.what());
      ++lane.failed;
    }
  }
}

/// By program, of all processes: this one (clients, SDK and agent), zygote, workers, compilers.
using Memory = std::map<std::string, double>;  // MiB

Memory resident_mib() {
  Memory sum;
  for (const pid_t process : process_tree(::getpid())) {
    const auto name = read_file("/proc/" + std::to_string(process) + "/comm", 4_KiB);
    const auto memory = proportional_memory_of(process);
    if (!name || !memory) continue;  // it has just been killed
    const std::string_view line = as_text(*name);
    sum[std::string(line.substr(0, line.find('\n')))] +=
        static_cast<double>(memory->value) / (1U << 20);
  }
  return sum;
}

/// The middle of what a program had, over a part of the time: large calls come and go.
double middle_of(std::vector<double> mib) {
  std::ranges::sort(mib);
  return mib.empty() ? 0 : mib[mib.size() / 2];
}

/// No program has grown between the second and the last fifth of the samples; in the first one
/// everything gets warm.
bool is_flat(const std::vector<Memory>& samples) {
  constexpr double noise_mib = 8;
  const std::size_t fifth = samples.size() / 5;
  const auto part = [&](const std::string& program, std::size_t first) {
    std::vector<double> mib;
    for (const Memory& sample : std::span(samples).subspan(first, fifth))
      if (const auto found = sample.find(program); found != sample.end())
        mib.push_back(found->second);
    return middle_of(std::move(mib));
  };
  bool flat = fifth > 0;
  for (const auto& [program, last] : samples.back()) {
    const double was = part(program, fifth);
    const double is = part(program, samples.size() - fifth);
    std::printf("memory of %s: %.1f -> %.1f MiB\n", program.c_str(), was, is);
    flat = flat && is < was + noise_mib;
  }
  return flat;
}

void kill_workers_of(Lane& lane) {
  for (const std::int64_t pid : sdk::LeaseAccess::core_of(lane.lease).worker_pids())
    if (pid > 0 && ::kill(static_cast<pid_t>(pid), SIGKILL) == 0) ++lane.killed;
}

bool report(const Lane& lane) {
  std::printf(
      "lane %s: %llu calls (%.1f GB in, as much out; %llu of a MiB and more), wrong %llu, "
      "lost %llu, workers killed %u\n",
      lane.name, static_cast<unsigned long long>(lane.done.load()),
      static_cast<double>(lane.bytes.load()) / 1e9,
      static_cast<unsigned long long>(lane.large.load()),
      static_cast<unsigned long long>(lane.wrong.load()),
      static_cast<unsigned long long>(lane.failed.load()), lane.killed);
  return lane.done > 0 && lane.wrong == 0 && lane.failed == 0;
}

int run(std::int64_t calls) {
  tests::LocalExecutor executor({.programs = PROGRAMS, .remote = true});
  const auto source = std::make_shared<tests::ExecutorSource>(executor);
  const auto module = tests::module_bytes(std::filesystem::path(FUNCTIONS) / "echo.bc");
  std::array<std::unique_ptr<Lane>, 2> lanes;
  for (std::size_t i = 0; const char* name : {"local", "ucx"}) {
    Lease lease = tests::take_lease(source, {.workers = 1, .lane = name});
    LeasedFunction echo = lease.module(module).function();
    lanes.at(i++) = std::make_unique<Lane>(name, std::move(lease), std::move(echo));
  }
  std::atomic<std::int64_t> left = calls;
  std::vector<Memory> samples;
  {
    std::vector<std::jthread> threads;
    for (unsigned seed = 1; const auto& lane : lanes)
      threads.emplace_back([&lane, &left, seed = seed++] { call_all(*lane, left, seed); });
    auto next_kill = std::chrono::steady_clock::now() + 10s;
    for (unsigned turn = 0; left > 0; std::this_thread::sleep_for(200ms)) {
      samples.push_back(resident_mib());
      if (std::chrono::steady_clock::now() < next_kill) continue;
      next_kill += 10s;
      kill_workers_of(*lanes.at(turn++ % lanes.size()));
    }
  }
  bool good = true;
  for (const auto& lane : lanes) good = report(*lane) && good;
  return is_flat(samples) && good ? 0 : 1;
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  std::int64_t calls = 10'000'000;
  if (argc == 3 && std::string_view(argv[1]) == "--calls")
    std::from_chars(argv[2], argv[2] + std::strlen(argv[2]), calls);
  return orchid::bench::run(calls);
}
