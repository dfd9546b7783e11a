#include "site.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "foundation/files.h"
#include "harness/machine.h"

namespace orchid::tests {
namespace {

using bench::ChildProcess;
using std::chrono::seconds;

std::string text_of(const std::filesystem::path& path) {
  const auto content = read_file(path, 1_MiB);
  return content ? std::string(as_text(*content)) : std::string();
}

void append(std::vector<std::string>& words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
}

}  // namespace

Unplugged::Unplugged(unsigned host) : host_(host) {
  REQUIRE(HostNamespaces::unplug(host).has_value());
}

Unplugged::~Unplugged() { CHECK(hosts->plug_in(host_).has_value()); }

std::vector<std::byte> module_bytes_of(const std::filesystem::path& file) {
  auto bytes = read_file(file, 64_MiB);
  REQUIRE(bytes.has_value());
  return std::move(*bytes);
}

std::vector<std::byte> module_bytes(const std::string& name) {
  return module_bytes_of(std::filesystem::path(FUNCTIONS) / (name + ".bc"));
}

Site::Site(const Options& options) : executor_wrappers_(options.executor_wrappers) {
  for (const std::string& flag : options.gateway_flags) gateway_flags_ += " " + flag;
  start_gateway();
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(directory_.path() / "gateway"))
    if (entry.path().filename() == "token") token_file_ = entry.path();
  REQUIRE_FALSE(token_file_.empty());
  for (unsigned host = 0; host < host_count; ++host) executors_.push_back(start_executor(host));
  REQUIRE(eventually([&] { return hosts_there() == host_count; }, seconds(30)));
}

void Site::take_back(unsigned host) { executors_.at(host).stop(seconds(20)); }

void Site::offer_again(unsigned host) {
  executors_.at(host) = start_executor(host);
  REQUIRE(eventually([&] { return hosts_there() == host_count; }, seconds(30)));
}

void Site::stop_gateway() { gateway_.reset(); }

void Site::start_gateway() {
  const auto ready = directory_.path() / "ready";
  std::filesystem::remove(ready);
  const std::string listen = address_.empty() ? std::string(HostNamespaces::here) + ":0"
                                              : address_.substr(address_.rfind('/') + 1);
  gateway_ = start({"sh", "-c",
                    std::string("exec ") + PROGRAMS + "/orchid-gateway --state " +
                        (directory_.path() / "gateway").string() + " --compiler " + PROGRAMS +
                        "/orchid-compiler --listen " + listen + " --ready-fd 5" + gateway_flags_ +
                        " 5> " + ready.string()},
                   "gateway");
  REQUIRE(eventually([&] { return text_of(ready).find('\n') != std::string::npos; }, seconds(20)));
  const auto told = nlohmann::json::parse(text_of(ready));
  address_ = told.at("urls").at(0).get<std::string>();
  door_ = told.value("door", "");
}

std::string Site::token() const {
  std::string token = text_of(token_file_);
  token.erase(token.find_last_not_of("\r\n") + 1);
  return token;
}

Client Site::client() const { return Client({.gateway = address_, .token = token()}); }

CommandResult Site::through_the_door(unsigned host, std::vector<std::string> words,
                                     std::string input) const {
  std::vector<std::string> command = hosts->entry(host);
  command.emplace_back(PROGRAMS "/orchid");
  append(command, words);
  return run({.words = std::move(command),
              .environment = {"ORCHID_GATEWAY=" + door_, "ORCHID_TOKEN=" + token()},
              .input = std::move(input)});
}

std::vector<pid_t> Site::processes(const std::string& program) const {
  std::vector<pid_t> found;
  for (const pid_t pid : bench::process_tree(gateway_->pid()))
    if (text_of("/proc/" + std::to_string(pid) + "/cmdline").find(program) != std::string::npos)
      found.push_back(pid);
  return found;
}

std::size_t Site::hosts_there() const {
  try {
    return nlohmann::json::parse(client().get("/v1/hosts")).at("hosts").size();
  } catch (const Error&) {
    return 0;
  }
}

ChildProcess Site::start(const std::vector<std::string>& command, const std::string& name) const {
  auto child =
      ChildProcess::start({.command = command, .output_file = directory_.path() / (name + ".log")});
  REQUIRE_MESSAGE(child.has_value(), name);
  return std::move(*child);
}

ChildProcess Site::start_executor(unsigned host) const {
  const std::string name = HostNamespaces::name(host);
  std::vector<std::string> command = hosts->entry(host);
  append(command, executor_wrappers_.at(host));
  append(command, {PROGRAMS "/orchid-executor", "--gateway",
                   address_.substr(address_.rfind('/') + 1), "--token-file", token_file_.string(),
                   "--runtime", (directory_.path() / (name + "-run")).string(), "--state",
                   (directory_.path() / (name + "-state")).string(), "--host-id", name,
                   "--lane-listen", HostNamespaces::address(host) + ":0"});
  return start(command, name);
}

}  // namespace orchid::tests
