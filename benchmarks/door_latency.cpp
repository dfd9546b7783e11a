// benchmarks/door_latency.cpp: what does a request cost through the gateway's door, over UCX,
// against the same request over HTTP on TCP?
//
// Both on loopback, from the same program with the same orchid::Client, to the same gateway: echo
// of 8 B, 4 KiB and 1 MiB, and a deploy of 64 MiB that the gateway has already, so that what is
// moved and hashed is measured, and not LLVM or the disk. Large bodies pay for the door: it has
// them whole before it passes them on.
#include <sys/utsname.h>

#include <cstdio>
#include <exception>

#include "foundation/files.h"
#include "harness/bench.h"
#include "local_orchid.h"
#include "module/container.h"
#include "orchid/client.h"
#include "protocol/limits.h"

namespace orchid::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Case {
  const char* name;
  std::size_t size;
  int calls;  // in one round
};

/// An echo with an image for another target behind it that fills it up.
Result<std::vector<std::byte>> large_module(std::span<const std::byte> echo) {
  utsname host{};
  ::uname(&host);
  const std::vector<std::byte> filling(limits::module_size.value - 64 * 1024, std::byte{0x5a});
  const module::Image images[] = {
      {.triple = std::string(host.machine) + "-pc-linux-gnu", .arch = "", .bytes = echo},
      {.triple = "nvptx64-nvidia-cuda",
       .arch = "sm_90",
       .kind = module::ImageKind::object,
       .bytes = filling}};
  return module::write_container(images);
}

/// Measures `call` so often, in microseconds divided by `unit`.
template <typename Call>
Result<std::vector<double>> timed(int count, double unit, Call call) {
  std::vector<double> values;
  try {
    for (int i = 0; i < count; ++i) {
      const auto start = Clock::now();
      if (!call()) return fail(ErrorCode::internal, "another answer than expected");
      values.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count() /
                       unit);
    }
  } catch (const std::exception& error) {
    return fail(ErrorCode::internal, error.what());
  }
  return values;
}

int run(Bench& bench) {
  auto orchid = tests::LocalOrchid::start({.programs = PROGRAMS, .door = "127.0.0.1:0"});
  auto echo = read_file(FUNCTIONS "/echo.bc", 1_MiB);
  auto large = echo ? large_module(*echo) : fail(echo.error());
  if (!orchid || !large) {
    std::fprintf(stderr, "door_latency: %s\n",
                 (orchid ? large.error() : orchid.error()).message.c_str());
    return 3;
  }
  Client door({.gateway = orchid->door(), .token = orchid->token()});
  Client http({.gateway = orchid->address(), .token = orchid->token()});
  http.deploy("echo", *echo);
  http.deploy("large", *large);
  const Description baseline{"orchid::Client over HTTP on TCP", bench.command_line(), ""};
  const Case cases[] = {
      {"echo 8 B", 8, 1000}, {"echo 4 KiB", 4096, 1000}, {"echo 1 MiB", 1 << 20, 50}};
  const std::vector<Promise> small{{Statistic::p50, {Target::Direction::at_most, 1}}};
  for (const Case& what : cases) {
    const std::vector<std::byte> input(what.size, std::byte{1});
    const auto round = [&](Client& client) {
      return timed(what.calls, 1,
                   [&] { return client.invoke("echo", input).output.size() == what.size; });
    };
    bench.compare({.row = what.name,
                   .unit = "us",
                   .round = [&] { return round(door); },
                   .baseline = baseline,
                   .baseline_round = [&] { return round(http); },
                   // Large bodies have no promise: the door has one whole before it passes it on.
                   .promises = what.size > 4096 ? std::vector<Promise>{} : small});
  }
  const auto deploy = [&](Client& client) {
    return timed(2, 1000, [&] { return client.deploy("large", *large).size == large->size(); });
  };
  bench.compare({.row = "deploy of 64 MiB, known",
                 .unit = "ms",
                 .round = [&] { return deploy(door); },
                 .baseline = baseline,
                 .baseline_round = [&] { return deploy(http); }});
  return bench.report();
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  orchid::bench::Bench bench("door_latency", argc, argv);
  return orchid::bench::run(bench);
}
