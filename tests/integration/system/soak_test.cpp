// Some seconds of calls over HTTP and over a lease while workers are killed: nothing is wrong or
// lost, and no process grows. The ten million calls are benchmarks/soak.cpp's.
#include <signal.h>

#include <atomic>
#include <map>
#include <random>
#include <thread>

#include "harness/machine.h"
#include "system_fixture.h"

namespace orchid::tests {
namespace {

using std::chrono::seconds;

struct Counts {
  std::atomic<bool> stopping = false;
  std::atomic<std::uint64_t> calls = 0;
  std::atomic<std::uint64_t> again = 0;  // their worker was killed
  std::atomic<std::uint64_t> wrong = 0;
  std::atomic<std::uint64_t> lost = 0;
};

std::size_t random_size(std::mt19937& random) {
  return random() % 100 < 95 ? random() % 4096 : random() % (1U << 18);
}

/// `call` gives the output for an input. One that ends with its worker may be made again.
template <typename Call>
void call_until_stopped(Counts& counts, unsigned seed, Call call) {
  std::mt19937 random(seed);
  std::string all(1U << 18, ' ');
  for (char& letter : all) letter = static_cast<char>('a' + random() % 26);
  while (!counts.stopping) {
    const std::string_view input = std::string_view(all).substr(0, random_size(random));
    ++counts.calls;
    for (int attempt = 0;; ++attempt) {
      try {
        if (call(input) != input) ++counts.wrong;
        break;
      } catch (const Error& error) {
        ++counts.again;
        if (attempt < 5) continue;
        ++counts.lost;
        break;
      }
    }
  }
}

/// What Orchid's processes have in memory, by program. Workers come and go: those of one name count
/// together.
std::map<std::string, double> memory_of(const LocalOrchid& orchid) {
  std::map<std::string, double> mib;
  for (const pid_t process : orchid.processes())
    if (const auto memory = bench::proportional_memory_of(process))
      mib[name_of(process)] += static_cast<double>(memory->value) / (1U << 20);
  return mib;
}

/// Lets the calls go on, and kills a worker twice a second.
void kill_workers_for(const LocalOrchid& orchid, seconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
    if (const auto workers = processes_named(orchid, "orchid-worker"); !workers.empty())
      ::kill(workers[workers.size() / 2], SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  }
}

}  // namespace

TEST_CASE_FIXTURE(SystemFixture, "some seconds of calls and kills: nothing wrong, lost or grown") {
  REQUIRE(orchid({"deploy", std::string(EXAMPLES) + "/echo.bc", "--name", "echo"}).status == 0);
  Client over_http = client();
  Lease lease = over_http.lease({.workers = 1});
  const LeasedFunction echo = lease.function("echo");
  Counts counts;
  std::vector<std::jthread> callers;
  for (unsigned seed : {1U, 2U})
    callers.emplace_back([&, seed] {
      call_until_stopped(counts, seed, [&](std::string_view input) {
        return std::string(over_http.invoke("echo", input).text());
      });
    });
  callers.emplace_back([&] {
    call_until_stopped(
        counts, 3, [&](std::string_view input) { return std::string(echo.invoke(input).text()); });
  });
  // Caches and pools fill first.
  kill_workers_for(system(), seconds(3));
  const auto before = memory_of(system());
  const auto calls_before = counts.calls.load();
  kill_workers_for(system(), seconds(4));
  const auto after = memory_of(system());
  const auto calls = counts.calls - calls_before;
  counts.stopping = true;
  callers.clear();
  CHECK(counts.wrong == 0);
  CHECK(counts.lost == 0);
  CHECK(calls > 1000);
  for (const auto& [name, mib] : after) {
    const double had = before.contains(name) ? before.at(name) : 0;
    MESSAGE(name << ": " << had << " MiB, " << calls << " calls later " << mib);
    // A kilobyte for each call would be more. Compilers make their best code when nobody else wants
    // the processors, which may be in between.
    CHECK(mib - had < (name == "orchid-compiler" ? 48 : 8));
  }
}

}  // namespace orchid::tests
