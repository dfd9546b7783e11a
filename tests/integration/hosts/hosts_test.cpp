// One Orchid on several hosts: a gateway, and two executors that it only reaches over the network.
#include <doctest/doctest.h>
#include <signal.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "command.h"
#include "foundation/files.h"
#include "harness/child_process.h"
#include "harness/machine.h"
#include "host_namespaces.h"
#include "local_executor.h"
#include "orchid/client.h"

namespace orchid::tests {

extern std::optional<HostNamespaces> hosts;  // of main.cpp

namespace {

using bench::ChildProcess;
using std::chrono::milliseconds;
using std::chrono::seconds;

template <typename Condition>
bool eventually(Condition condition, seconds patience) {
  const auto give_up = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    std::this_thread::sleep_for(milliseconds(20));
  }
  return true;
}

std::string text_of(const std::filesystem::path& path) {
  const auto content = read_file(path, 1_MiB);
  return content ? std::string(as_text(*content)) : std::string();
}

/// The programs by hand, as a site's service files start them.
class Site {
 public:
  Site() {
    const auto state = directory_.path() / "gateway";
    const auto ready = directory_.path() / "ready";
    gateway_ = start(
        {"sh", "-c",
         std::string("exec ") + PROGRAMS + "/orchid-gateway --state " + state.string() +
             " --compiler " + PROGRAMS + "/orchid-compiler --listen " + HostNamespaces::here +
             ":0 --door-listen " + HostNamespaces::here + ":0 --ready-fd 5 5> " + ready.string()},
        "gateway");
    REQUIRE(
        eventually([&] { return text_of(ready).find('\n') != std::string::npos; }, seconds(20)));
    const auto told = nlohmann::json::parse(text_of(ready));
    address_ = told.at("urls").at(0).get<std::string>();
    door_ = told.at("door").get<std::string>();
    for (const auto& entry : std::filesystem::recursive_directory_iterator(state))
      if (entry.path().filename() == "token") token_file_ = entry.path();
    REQUIRE_FALSE(token_file_.empty());
    for (unsigned host = 0; host < 2; ++host) executors_.push_back(start_executor(host));
    REQUIRE(eventually([&] { return host_count() == 2; }, seconds(30)));
  }

  [[nodiscard]] Client client() const { return Client({.gateway = address_, .token = token()}); }

  /// `orchid WORDS…` on a host, which comes in through the gateway's door.
  [[nodiscard]] CommandResult through_the_door(unsigned host, std::vector<std::string> words,
                                               std::string input = {}) const {
    std::vector<std::string> command = hosts->entry(host);
    command.emplace_back(PROGRAMS "/orchid");
    command.insert(command.end(), words.begin(), words.end());
    return run({.words = std::move(command),
                .environment = {"ORCHID_GATEWAY=" + door_, "ORCHID_TOKEN=" + token()},
                .input = std::move(input)});
  }

  /// Those of the gateway that run this program.
  [[nodiscard]] std::vector<pid_t> processes(const std::string& program) const {
    std::vector<pid_t> found;
    for (const pid_t pid : bench::process_tree(gateway_->pid()))
      if (text_of("/proc/" + std::to_string(pid) + "/cmdline").find(program) != std::string::npos)
        found.push_back(pid);
    return found;
  }

 private:
  [[nodiscard]] std::string token() const {
    std::string token = text_of(token_file_);
    token.erase(token.find_last_not_of("\r\n") + 1);
    return token;
  }
  [[nodiscard]] std::size_t host_count() const {
    try {
      return nlohmann::json::parse(client().get("/v1/hosts")).at("hosts").size();
    } catch (const Error&) {
      return 0;
    }
  }
  [[nodiscard]] ChildProcess start(const std::vector<std::string>& command,
                                   const std::string& name) const {
    auto child = ChildProcess::start(
        {.command = command, .output_file = directory_.path() / (name + ".log")});
    REQUIRE_MESSAGE(child.has_value(), name);
    return std::move(*child);
  }
  [[nodiscard]] ChildProcess start_executor(unsigned host) const {
    const std::string name = HostNamespaces::name(host);
    std::vector<std::string> command = hosts->entry(host);
    for (const std::string& word : std::vector<std::string>{
             PROGRAMS "/orchid-executor", "--gateway", address_.substr(address_.rfind('/') + 1),
             "--token-file", token_file_.string(), "--runtime",
             (directory_.path() / (name + "-run")).string(), "--state",
             (directory_.path() / (name + "-state")).string(), "--host-id", name, "--lane-listen",
             HostNamespaces::address(host) + ":0"})
      command.push_back(word);
    return start(command, name);
  }

  TemporaryDirectory directory_;
  std::string address_;
  std::string door_;
  std::filesystem::path token_file_;
  std::optional<ChildProcess> gateway_;
  std::vector<ChildProcess> executors_;
};

std::vector<std::byte> module_bytes_of(const std::filesystem::path& file) {
  auto bytes = read_file(file, 64_MiB);
  REQUIRE(bytes.has_value());
  return std::move(*bytes);
}

std::vector<std::byte> module_bytes(const std::string& name) {
  return module_bytes_of(std::filesystem::path(FUNCTIONS) / (name + ".bc"));
}

}  // namespace

TEST_CASE("HTTP calls run on workers of other hosts, and end as they would here") {
  if (!hosts) return;
  Site site;
  Client client = site.client();
  for (const char* name : {"output_big", "logs_and_crashes", "loops", "reports_pid"})
    client.deploy(name, module_bytes(name));
  const std::vector<std::byte> echo = module_bytes_of(EXAMPLES "/echo.bc");
  client.deploy("echo", echo);
  CHECK(client.invoke("echo", "over there").text() == "over there");
  const std::vector<std::byte> large(20 << 20, std::byte{42});
  CHECK(client.invoke("echo", large).output == large);
  const auto error_of = [&](const std::string& function, milliseconds deadline) {
    try {
      (void)client.invoke(function, "", {.deadline = deadline});
    } catch (const Error& error) {
      return error;
    }
    return Error({.message = "no error"});
  };
  const Error crashed = error_of("logs_and_crashes", seconds(20));
  CHECK(crashed.kind() == ErrorKind::function_crashed);
  CHECK(crashed.node().starts_with("host"));
  CHECK_FALSE(client.invocation(crashed.invocation()).log().text.empty());
  CHECK(error_of("loops", milliseconds(300)).kind() == ErrorKind::deadline_exceeded);
  CHECK(client.invoke("echo", "again").text() == "again");
  // What stands in between is replaced when it dies.
  for (const pid_t dispatch : site.processes("orchid-dispatch")) ::kill(dispatch, SIGKILL);
  CHECK(eventually(
      [&] {
        try {
          return client.invoke("echo", "and again", {.deadline = seconds(5)}).text() == "and again";
        } catch (const Error&) {
          return false;
        }
      },
      seconds(30)));
}

TEST_CASE("a program on another host comes in through the door") {
  if (!hosts) return;
  Site site;
  const auto deployed = site.through_the_door(1, {"deploy", EXAMPLES "/echo.bc"});
  CHECK_MESSAGE(deployed.status == 0, deployed.err);
  CHECK(site.through_the_door(1, {"invoke", "echo"}, "from afar").out == "from afar");
  const std::string large(20 << 20, 'x');
  CHECK(site.through_the_door(0, {"invoke", "echo"}, large).out == large);
  // A host that vanishes in the middle of a connection is noticed, and its process at the door
  // ends.
  site.client().deploy("sleeps", module_bytes("sleeps"));
  std::thread cut_off([&] { (void)site.through_the_door(1, {"invoke", "sleeps"}, "60000"); });
  CHECK(eventually([&] { return site.processes("orchid-door").size() == 2; }, seconds(20)));
  CHECK(HostNamespaces::unplug(1).has_value());
  CHECK(eventually([&] { return site.processes("orchid-door").size() == 1; }, seconds(20)));
  cut_off.join();
  CHECK(HostNamespaces::plug(1).has_value());
}

TEST_CASE("calls go on when a host is lost, and its worker is replaced") {
  if (!hosts) return;
  Site site;
  Client client = site.client();
  Lease lease = client.lease({.workers = 2, .duration = seconds(20)});
  REQUIRE(lease.workers() == 2);
  CHECK(lease.capacity().nodes.size() == 2);
  const LeasedFunction pid = lease.module(module_bytes("reports_pid")).function();
  const LeasedFunction sleeps = lease.module(module_bytes("sleeps")).function();
  CHECK_FALSE(pid.invoke("").text().empty());
  // Calls on both at once, before, while and after one of them goes.
  const ReplyFuture first = sleeps.async("300");
  const ReplyFuture second = sleeps.async("300");
  CHECK(first.get().text() == "300");
  CHECK(second.get().text() == "300");
  const auto round = [&] {
    std::vector<ReplyFuture> running;
    for (int i = 0; i < 4; ++i) running.push_back(sleeps.async("20"));
    for (const ReplyFuture& call : running) CHECK(call.get().text() == "20");
  };
  round();
  const ReplyFuture long_one = sleeps.async("1000");
  const ReplyFuture long_two = sleeps.async("1000");
  REQUIRE(HostNamespaces::unplug(0).has_value());
  const auto start = std::chrono::steady_clock::now();
  CHECK(long_one.get().text() == "1000");
  CHECK(long_two.get().text() == "1000");
  // Noticed by silence alone, within seconds.
  CHECK(std::chrono::steady_clock::now() - start < seconds(15));
  CHECK(eventually([&] { return lease.workers() == 1; }, seconds(15)));
  round();
  // The program tells the gateway, which gives another worker.
  CHECK(eventually(
      [&] {
        round();
        return lease.workers() == 2;
      },
      seconds(30)));
  CHECK(lease.capacity().nodes == std::vector<std::string>{HostNamespaces::name(1)});
  round();
}

}  // namespace orchid::tests
