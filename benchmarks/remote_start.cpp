// benchmarks/remote_start.cpp: how long from a lease on another host to the first result?
//
// The gateway and this program are on one host, the executor is on another one: two network
// namespaces that a bridge joins. The executor has compiled the function before.
#include <cstdio>

#include "far_site.h"
#include "first_call.h"
#include "foundation/files.h"
#include "foundation/units.h"
#include "harness/bench.h"
#include "orchid/lease.h"

namespace orchid::bench {
namespace {

using namespace std::chrono_literals;
using tests::HostNamespaces;

constexpr int calls_per_round = 5;

int run(Bench& bench) {
  auto hosts = HostNamespaces::create(1);
  if (!hosts) {
    std::fprintf(stderr, "remote_start: %s\n", hosts.error().message.c_str());
    return 3;
  }
  auto site = FarSite::start(*hosts);
  auto echo = read_file(std::filesystem::path(FUNCTIONS) / "echo.bc", 1_MiB);
  if (!site || !echo) {
    std::fprintf(stderr, "remote_start: %s\n",
                 (site ? echo.error() : site.error()).message.c_str());
    return 3;
  }
  Client client = (*site)->client();
  client.deploy("echo", *echo);
  (void)client.lease().function("echo").invoke("input");
  bench.measure({.row = "lease on another host + first direct call, code cached",
                 .unit = "ms",
                 .round = [&]() -> Result<std::vector<double>> {
                   return lease_and_call(client, "echo", calls_per_round, 50ms);
                 },
                 .promises = {{Statistic::p50, {Target::Direction::at_most, 10}}}});
  bench.measure({.row = "the same, each right after the one before",
                 .unit = "ms",
                 .round = [&]() -> Result<std::vector<double>> {
                   return lease_and_call(client, "echo", calls_per_round, 0ms);
                 },
                 .promises = {}});
  return bench.report();
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  orchid::bench::Bench bench("remote_start", argc, argv);
  return orchid::bench::run(bench);
}
