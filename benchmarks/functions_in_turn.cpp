// benchmarks/functions_in_turn.cpp: what does it cost over HTTP that each function has a process of
// its own?
//
// Eight functions called in turn, whose workers are all kept, against one function called alike;
// and 64 of them, so that each call needs a new worker. Input and output are 5 bytes. What a
// process that sleeps costs: the eight workers that keep most, which are those that have run
// something.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "foundation/files.h"
#include "foundation/tick_clock.h"
#include "harness/bench.h"
#include "harness/child_process.h"
#include "harness/machine.h"
#include "local_orchid.h"
#include "orchid/client.h"
#include "turn_functions.h"

namespace orchid::bench {
namespace {

constexpr int many = 64;
constexpr int kept = 8;

/// wrk calls `count` functions in turn for a second; the requests per second.
Result<std::vector<double>> load(const std::filesystem::path& folder,
                                 const tests::LocalOrchid& orchid, int count) {
  const std::filesystem::path script = folder / ("post" + std::to_string(count) + ".lua");
  std::ofstream(script)
      << "local i = 0\nwrk.headers[\"Content-Type\"] = \"application/octet-stream\"\n"
      << "wrk.headers[\"Authorization\"] = \"Bearer " << orchid.token() << "\"\n"
      << "request = function()\n  i = (i + 1) % " << count
      << "\n  return wrk.format(\"POST\", \"/v1/functions/turn\" .. i .. \"/invocations\", nil, "
         "\"hello\")\nend\n";
  auto printed =
      output_of({.command = {"wrk", "-t1", "-c16", "-d1s", "-s", script, orchid.address()}},
                std::chrono::seconds(20));
  if (!printed) return fail(std::move(printed.error()));
  const std::string label = "Requests/sec:";
  const std::size_t at = printed->find(label);
  if (at == std::string::npos || printed->find("Non-2xx") != std::string::npos)
    return fail(ErrorCode::internal,
                "wrk printed no rate, or answers that were not 2xx:\n" + *printed);
  return std::vector<double>{std::strtod(printed->c_str() + at + label.size(), nullptr)};
}

/// In KiB, shared pages divided among those who share them; the `count` largest workers.
Result<std::vector<double>> worker_memory(const tests::LocalOrchid& orchid, std::size_t count) {
  std::vector<double> sizes;
  for (const pid_t pid : orchid.processes()) {
    const auto name = read_file("/proc/" + std::to_string(pid) + "/comm", 4_KiB);
    if (!name || as_text(*name) != "orchid-worker\n") continue;
    if (const auto size = proportional_memory_of(pid))
      sizes.push_back(static_cast<double>(size->value) / 1024);
  }
  if (sizes.size() < count) return fail(ErrorCode::internal, "too few workers are there");
  std::ranges::sort(sizes, std::greater());
  sizes.resize(count);
  return sizes;
}

int run(Bench& bench) {
  auto orchid = tests::LocalOrchid::start(PROGRAMS);
  if (!orchid) {
    std::fprintf(stderr, "functions_in_turn: %s\n", orchid.error().message.c_str());
    return 3;
  }
  const Folder folder;
  Client client({.gateway = orchid->address(), .token = orchid->token()});
  for (int i = 0; i < many; ++i)
    if (auto deployed = deploy(client, folder.path, i); !deployed) {
      std::fprintf(stderr, "functions_in_turn: %s\n", deployed.error().message.c_str());
      return 3;
    }
  const TickRate rate = TickRate::measure();
  TurnCalls calls(client, rate);
  (void)calls(3 * many, many);  // the best code of all is there
  bench.compare({.row = "a call, eight functions in turn",
                 .unit = "us",
                 .round = [&] { return calls(800, kept); },
                 .baseline = {"one function", bench.command_line(), ""},
                 .baseline_round = [&] { return calls(800, 1); },
                 .promises = {{Statistic::p50, {Target::Direction::at_most, 1.5}}}});
  bench.compare({.row = "calls/s of 16 connections, eight functions in turn",
                 .unit = "1/s",
                 .round = [&] { return load(folder.path, *orchid, kept); },
                 .baseline = {"one function", "wrk -t1 -c16 -d1s -s post.lua URL", ""},
                 .baseline_round = [&] { return load(folder.path, *orchid, 1); },
                 .promises = {{Statistic::p50, {Target::Direction::at_least, 0.7}}}});
  bench.measure({.row = "memory (PSS) of a worker that sleeps",
                 .unit = "KiB",
                 .round = [&]() -> Result<std::vector<double>> {
                   if (auto called = calls(kept, kept); !called) return called;
                   return worker_memory(*orchid, kept);
                 },
                 .promises = {}});
  bench.measure({.row = "a call, 64 functions in turn, each in a new worker",
                 .unit = "us",
                 .round = [&] { return calls(256, many); },
                 .promises = {{Statistic::p50, {Target::Direction::at_most, 2000}}}});
  return bench.report();
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  orchid::bench::Bench bench("functions_in_turn", argc, argv);
  try {
    return orchid::bench::run(bench);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "functions_in_turn: %s\n", error.what());
    return 3;
  }
}
