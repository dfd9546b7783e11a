// What --bandwidth-cap does to functions that live from the memory's bandwidth, and to others.
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <future>
#include <nlohmann/json.hpp>
#include <sstream>

#include "colocation_site.h"
#include "harness/machine.h"

namespace orchid::tests {
namespace {

using bench::ChildProcess;

/// As the gateway was last told.
std::uint64_t counter(const Site& site, const std::string& name) {
  const auto hosts = nlohmann::json::parse(site.client().get("/v1/hosts"));
  return hosts.at("hosts").at(0).at("executors").at(0).at("counters").value(name, 0ULL);
}

/// A call that streams through 96 MiB for so long.
struct Streamed {
  double gigabytes_per_second = 0;
  std::uint64_t wrong = 0;  // elements
};
Streamed stream(const Site& site, int milliseconds) {
  const CommandResult result =
      site.orchid({"invoke", "streams_memory"}, std::to_string(milliseconds) + " 96");
  REQUIRE_MESSAGE(result.status == 0, result.err);
  std::istringstream words(result.out);
  double bytes = 0;
  Streamed streamed;
  REQUIRE((words >> bytes >> streamed.wrong));
  streamed.gigabytes_per_second = bytes / milliseconds / 1e6;
  return streamed;
}

double compute(const Site& site, int milliseconds) {
  const CommandResult result = site.orchid({"invoke", "computes"}, std::to_string(milliseconds));
  REQUIRE_MESSAGE(result.status == 0, result.err);
  return std::strtod(result.out.c_str(), nullptr) / milliseconds;
}

void end(ChildProcess& executor) {
  REQUIRE(::kill(executor.pid(), SIGTERM) == 0);
  REQUIRE(executor.wait(std::chrono::seconds(20)).has_value());
}

}  // namespace

TEST_CASE("a function that lives from bandwidth is slowed to the cap, and its results are right") {
  ColocationSite site;
  site.deploy("streams_memory");
  ChildProcess executor = site.start_executor({"--cores", "1", "--bandwidth-cap", "512MiB"});
  // It is measured in its first call, while it gets its memory and after that.
  REQUIRE(eventually([&] {
    (void)stream(site, 300);
    return site.log().find("event=function_measured") != std::string::npos;
  }));
  // What others leave it of the machine while it is measured counts for less than it moves later;
  // the next measurements mend that.
  Streamed streamed;
  CHECK(eventually([&] {
    streamed = stream(site, 1000);
    return streamed.gigabytes_per_second < 1.5;
  }));
  MESSAGE("with a cap of 0.54 GB/s: ", streamed.gigabytes_per_second, " GB/s");
  CHECK(streamed.gigabytes_per_second > 0.05);
  CHECK(streamed.wrong == 0);
  CHECK(eventually([&] {
    (void)stream(site, 300);
    return counter(site, "function_holds") > 20;
  }));
  end(executor);
}

TEST_CASE("a function that computes is measured and never held") {
  ColocationSite site;
  site.deploy("computes");
  ChildProcess executor = site.start_executor({"--cores", "1", "--bandwidth-cap", "64MiB"});
  const double speed = compute(site, 1500);
  CHECK(speed > 0);
  REQUIRE(eventually([&] {
    (void)compute(site, 50);
    return counter(site, "functions_measured") > 0;
  }));
  CHECK(counter(site, "function_holds") == 0);
  CHECK(site.log().find("event=function_measured") == std::string::npos);
  end(executor);
}

TEST_CASE("the deadline of a held call is kept, and another worker takes its place") {
  ColocationSite site;
  site.deploy("streams_memory");
  ChildProcess executor = site.start_executor({"--cores", "1", "--bandwidth-cap", "64MiB"});
  REQUIRE(eventually([&] { return stream(site, 300).gigabytes_per_second < 1.5; }));
  const auto start = std::chrono::steady_clock::now();
  const CommandResult late =
      site.orchid({"invoke", "streams_memory", "--deadline", "500ms"}, "20000 96");
  CHECK(late.status == 4);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));
  CHECK(stream(site, 100).wrong == 0);  // on a new worker
  end(executor);
}

TEST_CASE("a grant that is taken back while its function is held is clear at once") {
  ColocationSite site;
  site.deploy("streams_memory");
  const auto core = std::to_string(bench::allowed_cores().back());
  ChildProcess executor = site.start_executor({"--grant", "pilot", "--scheduling", "normal",
                                               "--core-list", core, "--bandwidth-cap", "64MiB"});
  REQUIRE(eventually([&] { return stream(site, 300).gigabytes_per_second < 1.5; }));
  auto call = std::async(std::launch::async, [&site] {
    return site.orchid({"invoke", "streams_memory", "--deadline", "4s"}, "20000 96");
  });
  REQUIRE(site.runs("streams_memory"));
  const auto family = bench::process_tree(executor.pid());
  const auto start = std::chrono::steady_clock::now();
  end(executor);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(3));
  for (const pid_t pid : family) CHECK(eventually([pid] { return ::kill(pid, 0) != 0; }));
  CHECK(call.get().status != 0);  // nobody is left to run it
}

TEST_CASE("without a cap nothing is measured and nobody is held") {
  ColocationSite site;
  site.deploy("streams_memory");
  ChildProcess executor = site.start_executor({"--cores", "1"});
  const Streamed streamed = stream(site, 1000);
  CHECK(streamed.wrong == 0);
  CHECK(counter(site, "functions_measured") == 0);
  CHECK(counter(site, "function_holds") == 0);
  end(executor);
}

}  // namespace orchid::tests
