#include "mixed_site.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "command.h"
#include "foundation/files.h"

namespace orchid::tests {
namespace {

using std::chrono::seconds;

constexpr seconds gateway_ready_within{30};
/// An emulated machine boots, and its executor compiles a first function, on cores that others use.
constexpr seconds joined_within{240};
/// The machine ends by itself then, whatever becomes of the test.
constexpr seconds machine_life{900};

std::string text_of(const std::filesystem::path& path) {
  const auto content = read_file(path, 4_MiB);
  return content ? std::string(as_text(*content)) : std::string();
}

template <typename Condition>
bool eventually(Condition condition, seconds patience) {
  const auto give_up = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return true;
}

}  // namespace

MixedSite::MixedSite() {
  start_gateway();
  start_executors();
  wait_for_hosts();
}

Client MixedSite::client() const {
  return Client({.gateway = "http://" + address_, .token = token_});
}

std::string MixedSite::orchid(std::vector<std::string> words, std::string input) const {
  words.insert(words.begin(), PROGRAMS "/orchid");
  const auto done =
      run({.words = words,
           .environment = {"ORCHID_GATEWAY=http://" + address_, "ORCHID_TOKEN=" + token_},
           .input = std::move(input),
           .deadline = seconds(120)});
  if (done.status != 0)
    throw std::runtime_error(
        fmt::format("orchid {} ended with {}: {}\n{}", words.at(1), done.status, done.err, logs()));
  return done.out;
}

std::filesystem::path MixedSite::module(const std::filesystem::path& source,
                                        const std::vector<std::string>& targets) const {
  std::filesystem::path module = folder_ / (source.stem().string() + ".orc");
  std::vector<std::string> words{"build", source.string(), "-o", module.string()};
  for (const std::string& target : targets) words.insert(words.end(), {"--target", target});
  (void)orchid(std::move(words));
  return module;
}

std::string MixedSite::logs() const {
  std::string text;
  for (const char* name : {"gateway", "executor", "machine"})
    text += fmt::format("---- {}\n{}\n", name, text_of(folder_ / (std::string(name) + ".log")));
  return text;
}

void MixedSite::start_gateway() {
  const auto ready = folder_ / "ready";
  processes_.push_back(start(
      {"sh", "-c",
       fmt::format("exec {0}/orchid-gateway --state {1}/gateway --listen {2}:0 --ready-fd 5 5> {3}",
                   PROGRAMS, folder_.path().string(), here, ready.string())},
      "gateway"));
  if (!eventually([&] { return text_of(ready).find('\n') != std::string::npos; },
                  gateway_ready_within))
    throw std::runtime_error("the gateway is not ready\n" + logs());
  const auto url = nlohmann::json::parse(text_of(ready)).at("urls").at(0).get<std::string>();
  address_ = url.substr(url.rfind('/') + 1);
}

void MixedSite::start_executors() {
  std::filesystem::path token_file;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_ / "gateway"))
    if (entry.path().filename() == "token") token_file = entry.path();
  token_ = text_of(token_file);
  token_.erase(token_.find_last_not_of("\r\n") + 1);
  const std::string state = folder_ / "executor";
  processes_.push_back(
      start({PROGRAMS "/orchid-executor", "--gateway", address_, "--token-file", token_file,
             "--scratch", state, "--lane-listen", std::string(here) + ":0"},
            "executor"));
  // The token is for this gateway alone, which ends with the test. The machine's own name may be
  // this one's, too: the gateway would tell them apart by numbers.
  processes_.push_back(
      start({VIRTUAL_MACHINE, "--arch", "aarch64", "--seconds",
             std::to_string(machine_life.count()), "--tap", "tap0",
             fmt::format("echo {} > /proc/sys/kernel/hostname; umask 077; echo {} > /tmp/token; "
                         "exec {}/orchid-executor --gateway {} --token-file /tmp/token "
                         "--scratch /tmp/executor --kind dpu --lane-listen {}:0",
                         machine, token_, ARM_PROGRAMS, address_, there)},
            "machine"));
}

void MixedSite::wait_for_hosts() const {
  const Client client = this->client();
  const auto both = [&] {
    try {
      return nlohmann::json::parse(Client(client).get("/v1/hosts")).at("hosts").size() == 2;
    } catch (const Error&) {
      return false;  // not yet
    }
  };
  if (!eventually(both, joined_within))
    throw std::runtime_error("the executors have not joined\n" + logs());
}

bench::ChildProcess MixedSite::start(const std::vector<std::string>& command,
                                     const std::string& name) const {
  auto child =
      bench::ChildProcess::start({.command = command, .output_file = folder_ / (name + ".log")});
  if (!child) throw std::runtime_error(child.error().message);
  return std::move(*child);
}

}  // namespace orchid::tests
