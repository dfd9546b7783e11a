// benchmarks/remote_start.cpp: how long from a lease on another host to the first result?
//
// The gateway and this program are on one host, the executor is on another one: two network
// namespaces that a bridge joins. The executor has compiled the function before.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>

#include "first_call.h"
#include "foundation/files.h"
#include "harness/bench.h"
#include "harness/child_process.h"
#include "hosts/host_namespaces.h"
#include "orchid/client.h"
#include "orchid/lease.h"

namespace orchid::bench {
namespace {

using namespace std::chrono_literals;
using tests::HostNamespaces;

constexpr int calls_per_round = 5;

/// The programs as a site's service files start them. Its directory goes with it.
class Site {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Site>> start(const HostNamespaces& hosts) {
    std::string pattern = "/tmp/orchid-bench-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) return fail_errno("mkdtemp");
    auto site = std::unique_ptr<Site>(new Site(pattern));
    if (auto started = site->start_programs(hosts); !started) return fail(started.error());
    return site;
  }
  ~Site() {
    for (ChildProcess& program : programs_) program.stop();
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  Site(const Site&) = delete;
  Site& operator=(const Site&) = delete;

  [[nodiscard]] Client client() const { return Client({.gateway = address_, .token = token_}); }

 private:
  explicit Site(std::filesystem::path directory) : directory_(std::move(directory)) {}

  [[nodiscard]] std::string text_of(const std::filesystem::path& path) const {
    const auto content = read_file(path, 1_MiB);
    return content ? std::string(as_text(*content)) : std::string();
  }
  template <typename Condition>
  [[nodiscard]] static Result<void> wait_for(const char* what, Condition condition) {
    const auto give_up = std::chrono::steady_clock::now() + 30s;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > give_up)
        return fail(ErrorCode::timed_out, std::string(what) + " did not start");
      std::this_thread::sleep_for(20ms);  // a benchmark's start-up, not a test
    }
    return {};
  }
  [[nodiscard]] Result<void> start(std::vector<std::string> command, const std::string& name) {
    auto child = ChildProcess::start(
        {.command = std::move(command), .output_file = directory_ / (name + ".log")});
    if (!child) return fail(std::move(child.error()));
    programs_.push_back(std::move(*child));
    return {};
  }
  [[nodiscard]] Result<void> start_programs(const HostNamespaces& hosts) {
    const auto state = directory_ / "gateway";
    const auto ready = directory_ / "ready";
    auto started =
        start({"sh", "-c",
               std::string("exec ") + PROGRAMS + "/orchid-gateway --state " + state.string() +
                   " --compiler " + PROGRAMS + "/orchid-compiler --listen " + HostNamespaces::here +
                   ":0 --ready-fd 5 5> " + ready.string()},
              "gateway");
    if (!started) return started;
    auto up =
        wait_for("the gateway", [&] { return text_of(ready).find('\n') != std::string::npos; });
    if (!up) return up;
    address_ = nlohmann::json::parse(text_of(ready)).at("urls").at(0).get<std::string>();
    std::filesystem::path token_file;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(state))
      if (entry.path().filename() == "token") token_file = entry.path();
    token_ = text_of(token_file);
    token_.erase(token_.find_last_not_of("\r\n") + 1);
    std::vector<std::string> command = hosts.entry(0);
    for (const std::string& word : std::vector<std::string>{
             PROGRAMS "/orchid-executor", "--gateway", address_.substr(address_.rfind('/') + 1),
             "--token-file", token_file.string(), "--runtime", (directory_ / "run").string(),
             "--state", (directory_ / "state").string(), "--host-id", "there", "--lane-listen",
             HostNamespaces::address(0) + ":0"})
      command.push_back(word);
    started = start(std::move(command), "executor");
    if (!started) return started;
    return wait_for("the executor", [&] {
      try {
        return !nlohmann::json::parse(client().get("/v1/hosts")).at("hosts").empty();
      } catch (const Error&) {
        return false;
      }
    });
  }

  std::filesystem::path directory_;
  std::string address_;
  std::string token_;
  std::vector<ChildProcess> programs_;
};

int run(Bench& bench) {
  auto hosts = HostNamespaces::create(1);
  if (!hosts) {
    std::fprintf(stderr, "remote_start: %s\n", hosts.error().message.c_str());
    return 3;
  }
  auto site = Site::start(*hosts);
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
