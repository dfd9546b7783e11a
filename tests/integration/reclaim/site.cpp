#include "site.h"

#include <nlohmann/json.hpp>

#include "foundation/files.h"

namespace orchid::tests {
namespace {

std::string content_of(const std::filesystem::path& path) {
  const auto content = read_file(path, 1_MiB);
  return content ? std::string(as_text(*content)) : std::string();
}

/// The flags of an executor that counts as that machine's.
void add_host(const std::string& host, std::vector<std::string>& flags) {
  flags.insert(flags.end(), {"--node", host, "--host-id", host, "--lane-listen", "127.0.0.1:0"});
}

}  // namespace

Site::Site(std::string host) : host_(std::move(host)) {
  auto started = bench::ChildProcess::start(
      {.command = {PROGRAMS "/orchid-gateway", "--state", directory_.path() / "gateway",
                   "--compiler", PROGRAMS "/orchid-compiler", "--dispatch",
                   PROGRAMS "/orchid-dispatch", "--listen", "127.0.0.1:0", "--socket", socket()},
       .output_file = directory_.path() / "gateway.log"});
  REQUIRE(started.has_value());
  gateway_ = std::move(*started);
  REQUIRE(eventually([&] {
    try {
      (void)client().get("/v1/hosts");
      return true;
    } catch (const Error&) {
      return false;
    }
  }));
}

Client Site::client() const { return Client({.gateway = "unix:" + socket().string()}); }

CommandResult Site::orchid(std::vector<std::string> words, std::string input) const {
  words.insert(words.begin(), PROGRAMS "/orchid");
  return run({.words = std::move(words),
              .environment = {"ORCHID_GATEWAY=unix:" + socket().string()},
              .input = std::move(input)});
}

void Site::deploy(const std::string& test_function) const {
  client().deploy_file(test_function, std::filesystem::path(FUNCTIONS) / (test_function + ".bc"));
}

bench::ChildProcess Site::launch(const std::vector<std::string>& flags,
                                 const std::vector<std::string>& wrapper) {
  const std::string name = "e" + std::to_string(++executors_);
  std::vector<std::string> command{PROGRAMS "/orchid-executor",          "--gateway",
                                   "unix:" + socket().string(),          "--runtime",
                                   directory_.path() / (name + "-run"),  "--state",
                                   directory_.path() / (name + "-state")};
  if (!host_.empty()) add_host(host_, command);
  command.insert(command.end(), flags.begin(), flags.end());
  command.insert(command.begin(), wrapper.begin(), wrapper.end());
  auto started = bench::ChildProcess::start(
      {.command = std::move(command), .output_file = directory_.path() / (name + ".log")});
  REQUIRE(started.has_value());
  return std::move(*started);
}

std::string Site::log() const {
  return content_of(directory_.path() / ("e" + std::to_string(executors_) + ".log"));
}

bench::ChildProcess Site::start_executor(const std::vector<std::string>& flags,
                                         const std::vector<std::string>& wrapper,
                                         std::chrono::seconds patience) {
  auto executor = launch(flags, wrapper);
  REQUIRE_MESSAGE(
      eventually([&] { return log().find("event=gateway_connected") != std::string::npos; },
                 patience),
      log());
  return executor;
}

bench::ChildProcess Site::start_pilot(unsigned core, const std::string& host) {
  std::vector<std::string> flags{"--grant", "pilot", "--job", "7", "--core-list",
                                 std::to_string(core),
                                 // What else runs on this machine is none of these tests' business.
                                 "--scheduling", "normal"};
  if (!host.empty()) add_host(host, flags);
  return start_executor(flags);
}

bool Site::runs(const std::string& function) const {
  return eventually([&] {
    const auto list = nlohmann::json::parse(client().get("/v1/invocations"));
    for (const auto& invocation : list.at("invocations"))
      if (invocation.at("function") == function && invocation.at("state") == "running") return true;
    return false;
  });
}

}  // namespace orchid::tests
