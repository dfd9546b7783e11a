// benchmarks/soak.cpp: does anything go wrong or grow in ten million calls?
//
// Echo of random sizes over both lanes at once while a worker is killed every ten seconds: no wrong
// answer, no lost call, no growth. `--calls N` for fewer.
#include <signal.h>

#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <thread>

#include "foundation/files.h"
#include "foundation/units.h"
#include "harness/machine.h"
#include "local_executor.h"
#include "local_lease.h"

namespace orchid::bench {
namespace {

using namespace std::chrono_literals;

struct Count {
  std::atomic<std::uint64_t> calls{0};
  std::atomic<std::uint64_t> wrong{0};
  std::atomic<std::uint64_t> failed{0};
  std::atomic<std::uint64_t> killed{0};
};

/// Mostly small; now and then up to a MiB.
std::size_t random_size(std::mt19937& random) {
  const unsigned kind = random() % 1000;
  if (kind < 900) return random() % 256;
  if (kind < 998) return random() % 8192;
  return random() % (1U << 20);
}

void call_until(const LeasedFunction& echo, std::uint64_t calls, unsigned seed, Count& count) {
  std::mt19937 random(seed);
  std::vector<std::byte> input(1U << 20);
  std::vector<std::byte> output(1U << 20);
  for (std::byte& byte : input) byte = static_cast<std::byte>(random());
  while (count.calls.fetch_add(1) < calls) {
    const std::size_t size = random_size(random);
    const std::size_t at = random() % (input.size() - size + 1);
    const std::span<const std::byte> sent = std::span(input).subspan(at, size);
    try {
      const std::size_t got = echo.invoke_into(sent, output);
      if (got != size || std::memcmp(output.data(), sent.data(), size) != 0) ++count.wrong;
    } catch (const Error& error) {
      std::fprintf(stderr, "soak: %s\n", error.what());
      ++count.failed;
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

/// No program has grown.
bool is_flat(const Memory& start, const Memory& end) {
  constexpr double noise_mib = 8;
  bool flat = true;
  for (const auto& [program, mib] : end) {
    const auto before = start.find(program);
    const double was = before == start.end() ? 0 : before->second;
    std::printf("memory of %s: %.1f -> %.1f MiB\n", program.c_str(), was, mib);
    flat = flat && mib < was + noise_mib;
  }
  return flat;
}

int run(std::uint64_t calls) {
  tests::LocalExecutor executor({.programs = PROGRAMS, .remote = true});
  const auto source = std::make_shared<tests::ExecutorSource>(executor);
  const auto module = tests::module_bytes(std::filesystem::path(FUNCTIONS) / "echo.bc");
  Lease local = tests::take_lease(source, {.workers = 1, .lane = "local"});
  Lease remote = tests::take_lease(source, {.workers = 1, .lane = "ucx"});
  const LeasedFunction echoes[] = {local.module(module).function(),
                                   remote.module(module).function()};
  Count count;
  Memory at_start;
  Memory at_end;
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < 2; ++i)
      threads.emplace_back([&, i] { call_until(echoes[i], calls, i + 1, count); });
    auto next_kill = std::chrono::steady_clock::now() + 10s;
    for (unsigned turn = 0; count.calls < calls; std::this_thread::sleep_for(100ms)) {
      // Once it is warm.
      if (at_start.empty() && count.calls > calls / 10) at_start = resident_mib();
      if (std::chrono::steady_clock::now() < next_kill) continue;
      next_kill += 10s;
      const Lease& victim = turn++ % 2 == 0 ? local : remote;
      for (const std::int64_t pid : sdk::LeaseAccess::core_of(victim).worker_pids())
        if (pid > 0 && ::kill(static_cast<pid_t>(pid), SIGKILL) == 0) ++count.killed;
    }
    at_end = resident_mib();
  }
  std::printf("calls %llu, wrong %llu, lost %llu, workers killed %llu\n",
              static_cast<unsigned long long>(calls),
              static_cast<unsigned long long>(count.wrong.load()),
              static_cast<unsigned long long>(count.failed.load()),
              static_cast<unsigned long long>(count.killed.load()));
  const bool flat = is_flat(at_start, at_end);
  return count.wrong == 0 && count.failed == 0 && flat ? 0 : 1;
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  std::uint64_t calls = 10'000'000;
  if (argc == 3 && std::string_view(argv[1]) == "--calls")
    std::from_chars(argv[2], argv[2] + std::strlen(argv[2]), calls);
  return orchid::bench::run(calls);
}
