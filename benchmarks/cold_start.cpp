// benchmarks/cold_start.cpp: how long until a function that nobody has ever seen has answered?
//
// A source of about 3 KB of bitcode, made unique by a constant, so that no cache can know it:
// deploy (inspected, stored durably), compiled for this host, linked into a worker and run, all
// over HTTP on a system that is up. Then its second call; and the same over the direct path.
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <fstream>

#include "first_call.h"
#include "foundation/files.h"
#include "harness/bench.h"
#include "local_orchid.h"
#include "orchid/client.h"
#include "orchid/lease.h"

namespace orchid::bench {
namespace {

using namespace std::chrono_literals;

constexpr int calls_per_round = 5;

constexpr const char* source = R"(
#include "orchid/function.h"
static uint64_t mix(uint64_t x) { x ^= x >> 30; x *= 0xbf58476d1ce4e5b9ULL; x ^= x >> 27; x *= 0x94d049bb133111ebULL; return x ^ x >> 31; }
ORCHID_ENTRY(cold) {
  uint64_t* out = (uint64_t*)orchid_output(call, 64 * sizeof(uint64_t));
  const unsigned char* bytes = (const unsigned char*)input;
  if (out == NULL) return ORCHID_ERROR;
  for (size_t i = 0; i < 64; ++i) out[i] = mix(UNIQUE + i);
  for (size_t i = 0; i < input_size; ++i) out[i % 64] = mix(out[i % 64] ^ bytes[i]);
  for (size_t i = 1; i < 64; ++i) out[i] += out[i - 1] * (UNIQUE | 1);
  return ORCHID_OK;
}
)";

/// Modules that differ in one constant, which is new in each run of this program.
Result<std::deque<std::vector<std::byte>>> make_modules(int count) {
  std::string pattern = "/tmp/orchid-cold-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) return fail_errno("mkdtemp");
  const std::filesystem::path directory = pattern;
  std::ofstream(directory / "cold.c") << source;
  std::deque<std::vector<std::byte>> modules;
  const auto base =
      static_cast<unsigned long long>(std::chrono::system_clock::now().time_since_epoch().count());
  for (int i = 0; i < count; ++i) {
    auto compiled = output_of(
        {.command = {"clang-19", "-O2", "-flto=thin", "-emit-llvm", "-c", "-I" FUNCTION_HEADERS,
                     "-DUNIQUE=" + std::to_string(base + static_cast<unsigned long long>(i)) +
                         "ULL",
                     directory / "cold.c", "-o", directory / "cold.bc"}},
        std::chrono::seconds(30));
    if (!compiled) return fail(std::move(compiled.error()));
    auto module = read_file(directory / "cold.bc", 1_MiB);
    if (!module) return fail(std::move(module.error()));
    modules.push_back(std::move(*module));
  }
  std::filesystem::remove_all(directory);
  return modules;
}

/// From the request for a lease to the first result.
void measure_lease(Bench& bench, Client& client, std::deque<std::vector<std::byte>>& modules) {
  client.deploy("warm", modules.front());
  modules.pop_front();
  (void)client.lease().function("warm").invoke("input");
  bench.measure({.row = "lease + first direct call, code cached",
                 .unit = "ms",
                 .round = [&]() -> Result<std::vector<double>> {
                   return lease_and_call(client, "warm", calls_per_round, 50ms);
                 },
                 .promises = {{Statistic::p50, {Target::Direction::at_most, 2}}}});
  bench.measure({.row = "the same, each right after the one before",
                 .unit = "ms",
                 .round = [&]() -> Result<std::vector<double>> {
                   return lease_and_call(client, "warm", calls_per_round, 0ms);
                 },
                 .promises = {}});
}

/// A new module over a lease that is there.
void measure_direct_path(Bench& bench, Client& client,
                         std::deque<std::vector<std::byte>>& modules) {
  Lease lease = client.lease();
  bench.measure({.row = "never-seen module over the direct path",
                 .unit = "ms",
                 .round = [&]() -> Result<std::vector<double>> {
                   std::vector<double> values;
                   for (int i = 0; i < calls_per_round; ++i) {
                     const auto start = std::chrono::steady_clock::now();
                     (void)lease.module(modules.front()).function().invoke("input");
                     values.push_back(milliseconds_since(start));
                     modules.pop_front();
                   }
                   return values;
                 },
                 .promises = {{Statistic::p50, {Target::Direction::at_most, 8}}}});
}

int run(Bench& bench) {
  auto orchid = tests::LocalOrchid::start(PROGRAMS);
  auto modules = make_modules(3 * calls_per_round * bench.rounds() + 1);
  if (!orchid || !modules) {
    std::fprintf(stderr, "cold_start: %s\n",
                 (orchid ? modules.error() : orchid.error()).message.c_str());
    return 3;
  }
  Client client({.gateway = orchid->address(), .token = orchid->token()});
  int number = 0;
  const auto deploy_and_call = [&](bool second) -> Result<std::vector<double>> {
    std::vector<double> values;
    try {
      for (int i = 0; i < calls_per_round; ++i) {
        const std::string name = "cold" + std::to_string(number++);
        auto start = std::chrono::steady_clock::now();
        client.deploy(name, modules->front());
        modules->pop_front();
        client.invoke(name, "input");
        if (!second) values.push_back(milliseconds_since(start));
        start = std::chrono::steady_clock::now();
        client.invoke(name, "input");
        if (second) values.push_back(milliseconds_since(start) * 1000);
      }
    } catch (const std::exception& error) {
      return fail(ErrorCode::internal, error.what());
    }
    return values;
  };
  // First: behind new modules their best code is still being made for a while.
  measure_lease(bench, client, *modules);
  bench.measure({.row = "deploy + first call",
                 .unit = "ms",
                 .round = [&] { return deploy_and_call(false); },
                 .promises = {{Statistic::p50, {Target::Direction::at_most, 20}}}});
  bench.measure({.row = "second call",
                 .unit = "us",
                 .round = [&] { return deploy_and_call(true); },
                 .promises = {{Statistic::p50, {Target::Direction::at_most, 300}}}});
  measure_direct_path(bench, client, *modules);
  return bench.report();
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  orchid::bench::Bench bench("cold_start", argc, argv);
  return orchid::bench::run(bench);
}
