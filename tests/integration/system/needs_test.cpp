// Functions whose workers have more than one core, called as anybody calls them.
#include <doctest/doctest.h>

#include <chrono>
#include <sstream>
#include <string>
#include <thread>

#include "harness/child_process.h"
#include "scratch_folder.h"
#include "system_fixture.h"

namespace orchid::tests {
namespace {

/// "ID CORE CORES TIME"; deployed anew, it has the workers that it needs now.
std::string worker_cores(SystemFixture& fixture) {
  const CommandResult result = fixture.orchid({"invoke", "reports_place"});
  REQUIRE_MESSAGE(result.status == 0, result.err);
  std::istringstream read(result.out);
  std::string id;
  std::string core;
  std::string cores;
  read >> id >> core >> cores;
  return cores;
}

/// A lease of all cores takes them from workers that have nothing to do. There are as many as a
/// machine has, or twice as many with an executor on a host of its own.
void ask_all_cores_back(Client client) {
  const unsigned here = std::thread::hardware_concurrency();
  for (const unsigned cores : {2 * here, here}) {
    try {
      client.lease({.workers = cores, .within = std::chrono::milliseconds(2000)}).release();
      return;
    } catch (const Error&) {  // there are fewer, or calls that were made before have some
    }
  }
}

std::string submit(SystemFixture& fixture, const std::string& function, const std::string& input) {
  const Http accepted = fixture.http("POST", "/v1/functions/" + function + "/invocations", input,
                                     {"-H", "Prefer: respond-async"});
  REQUIRE(accepted.status == 202);
  return Json::parse(accepted.body).at("id");
}

std::string state_of(SystemFixture& fixture, const std::string& invocation) {
  return Json::parse(fixture.client().get("/v1/invocations/" + invocation)).at("state");
}

CommandResult deploy_with(SystemFixture& fixture, const std::string& needs) {
  return fixture.orchid({"deploy", test_function("reports_place"), "--name", "reports_place",
                         "--needs", needs, "--json"});
}

}  // namespace

TEST_CASE_FIXTURE(SystemFixture, "a function runs on workers like the best of its needs there is") {
  deploy("reports_place");
  CHECK(worker_cores(*this) == "1");
  const CommandResult deployed = deploy_with(*this, "1 gpu | 2 cores, 64 MiB");
  REQUIRE_MESSAGE(deployed.status == 0, deployed.err);
  CHECK(Json::parse(deployed.out).at("needs") == "1 core, 1 GPU | 2 cores, 64 MiB");
  CHECK(worker_cores(*this) == "2");  // all cores are the idle worker's of one: it is asked back
  const FunctionInfo info = client().describe("reports_place");
  CHECK(info.needs == "1 core, 1 GPU | 2 cores, 64 MiB");
  REQUIRE(info.alternatives.size() == 2);
  CHECK(info.alternatives[0].gpus == 1);
  CHECK(info.alternatives[1].cores == 2);
  CHECK(info.alternatives[1].memory == std::uint64_t{64} << 20);
  const CommandResult shown = orchid({"describe", "reports_place"});
  CHECK_MESSAGE(contains(shown.out, "1 core, 1 GPU | 2 cores, 64 MiB"), shown.out);

  const std::string id = submit(*this, "reports_place", "");
  const CommandResult waited = orchid({"result", id, "--wait", "20s"});
  CHECK_MESSAGE(contains(waited.out, " -1 2 "), waited.err);

  Client user = client();
  Lease lease = user.lease({.alternatives = {{.cores = 1, .gpus = 1}, {.cores = 1}}});
  CHECK(lease.capacity().granted.size() == 1);  // what idle calls' workers held
  lease.release();
  REQUIRE(deploy_with(*this, "1 core").status == 0);
  CHECK(worker_cores(*this) == "1");
}

TEST_CASE_FIXTURE(SystemFixture, "a need that nobody can meet is named, with what there is") {
  deploy("reports_place");
  REQUIRE(deploy_with(*this, "1 gpu | 4000 cores").status == 0);
  const CommandResult refused = orchid({"invoke", "reports_place", "--deadline", "20s"});
  CHECK(refused.status != 0);
  CHECK_MESSAGE(contains(refused.err, "needs 1 GPU or 4000 cores; the largest host offers "),
                refused.err);
  const CommandResult explained = orchid({"explain", "--needs", "1 gpu | 1 core"});
  CHECK(explained.status == 0);
  CHECK_MESSAGE(contains(explained.out, "not 1 core, 1 GPU, "), explained.out);
  CHECK_MESSAGE(contains(explained.out, "too few GPUs free"), explained.out);
  CHECK_MESSAGE(contains(explained.out, "a worker would have 1 core, "), explained.out);
}

TEST_CASE_FIXTURE(SystemFixture,
                  "a worker goes to a GPU where one is free, and to cores elsewhere") {
  deploy("reports_place");
  REQUIRE(deploy_with(*this, "1 gpu | 2 cores").status == 0);
  CHECK(worker_cores(*this) == "2");
  const Scratch scratch;
  const auto executor = bench::ChildProcess::start(
      {.command = {PROGRAMS "/orchid-executor", "--gateway",
                   "unix:" + (system().runtime() / "gateway.sock").string(), "--runtime",
                   (scratch / "run").string(), "--state", (scratch / "state").string(), "--gpus",
                   "a100:0"},
       .environment = {"LD_LIBRARY_PATH=" DRIVER},
       .output_file = scratch / "log"});
  REQUIRE(executor.has_value());
  // Its place of two cores is kept while it is of use: a new one is decided anew.
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  std::string cores;
  while (cores != "1" && std::chrono::steady_clock::now() < give_up) {
    ask_all_cores_back(client());
    cores = worker_cores(*this);
  }
  CHECK(cores == "1");
  Lease lease = client().lease({.alternatives = {{.cores = 1, .gpus = 1}}});
  REQUIRE(lease.capacity().granted.size() == 1);  // the GPU was an idle worker's
  CHECK(lease.capacity().granted[0].gpus.size() == 1);
}

TEST_CASE_FIXTURE(SystemFixture, "a worker of two cores has its turn among calls that want one") {
  deploy("sleeps");
  deploy("reports_place");
  REQUIRE(deploy_with(*this, "2 cores").status == 0);
  std::string last;
  for (int call = 0; call < 120; ++call) last = submit(*this, "sleeps", "300");
  CHECK(worker_cores(*this) == "2");
  CHECK(state_of(*this, last) != "done");  // they are not through, and go on
}

TEST_CASE_FIXTURE(SystemFixture, "calls that no host can run keep no others waiting") {
  deploy("sleeps");
  deploy("reports_place");
  REQUIRE(deploy_with(*this, "4000 cores").status == 0);
  std::string waits;
  for (int call = 0; call < 70; ++call) waits = submit(*this, "reports_place", "");
  const CommandResult other = orchid({"result", submit(*this, "sleeps", "1"), "--wait", "20s"});
  CHECK_MESSAGE(other.status == 0, other.err);
  CHECK(state_of(*this, waits) == "queued");
  REQUIRE(deploy_with(*this, "1 core").status == 0);  // then they can run
  const CommandResult ran = orchid({"result", waits, "--wait", "20s"});
  CHECK_MESSAGE(ran.status == 0, ran.err);
}

TEST_CASE_FIXTURE(SystemFixture, "needs that are none are refused before anything is deployed") {
  const CommandResult wrong = deploy_with(*this, "4 coers");
  CHECK(wrong.status == 2);
  CHECK_MESSAGE(contains(wrong.err, "'4 coers' is no part of what a worker has"), wrong.err);
  const Http answer = http("PUT", "/v1/functions/f?needs=0%20cores", "x");
  CHECK(answer.status == 400);
  CHECK(contains(answer.body, "needs: '0 cores' is not from 1 to 65536 cores"));
  CHECK(http("GET", "/v1/placement?needs=2%20cores&cores=1").status == 400);
  CHECK(orchid({"explain", "--needs", "|"}).status == 2);
  CHECK(orchid({"describe", "reports_place"}).status != 0);
}

}  // namespace orchid::tests
