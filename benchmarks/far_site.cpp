#include "far_site.h"

#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "start_up.h"

namespace orchid::bench {

using tests::HostNamespaces;

namespace {

std::size_t executors_at(Client& client) {
  std::size_t found = 0;
  const auto shown = nlohmann::json::parse(client.get("/v1/hosts"));
  for (const auto& host : shown.at("hosts")) found += host.at("executors").size();
  return found;
}

}  // namespace

Result<std::unique_ptr<FarSite>> FarSite::start(const HostNamespaces& hosts,
                                                const Options& options) {
  std::string pattern = "/tmp/orchid-bench-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) return fail_errno("mkdtemp");
  auto site = std::unique_ptr<FarSite>(new FarSite(pattern));
  auto gateway = LoneGateway::start(pattern, std::string(HostNamespaces::here) + ":0");
  if (!gateway) return fail(std::move(gateway.error()));
  site->gateway_.emplace(std::move(*gateway));
  for (unsigned host = 0; host < options.executors; ++host)
    if (auto started = site->start_executor(hosts, host, options); !started)
      return fail(started.error());
  Client client = site->client();
  auto joined = wait_until("the executors have joined",
                           [&] { return executors_at(client) == options.executors; });
  if (!joined) return fail(joined.error());
  return site;
}

FarSite::~FarSite() {
  executors_.clear();
  gateway_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

Result<void> FarSite::start_executor(const HostNamespaces& hosts, unsigned host,
                                     const Options& options) {
  const std::string name = HostNamespaces::name(host);
  std::vector<std::string> command = hosts.entry(host);
  for (const std::string& word : std::vector<std::string>{
           PROGRAMS "/orchid-executor", "--gateway", gateway_->host_and_port(), "--token-file",
           gateway_->token_file().string(), "--runtime", (directory_ / (name + "-run")).string(),
           "--state", (directory_ / (name + "-state")).string(), "--lane-listen",
           HostNamespaces::address(host) + ":0"})
    command.push_back(word);
  if (options.apart) command.insert(command.end(), {"--host-id", name});
  command.insert(command.end(), options.flags.begin(), options.flags.end());
  auto started = ChildProcess::start(
      {.command = std::move(command), .output_file = directory_ / (name + ".log")});
  if (!started) return fail(std::move(started.error()));
  executors_.push_back(std::move(*started));
  return {};
}

}  // namespace orchid::bench
