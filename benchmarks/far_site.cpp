#include "far_site.h"

#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "start_up.h"

namespace orchid::bench {

using tests::HostNamespaces;

Result<std::unique_ptr<FarSite>> FarSite::start(const HostNamespaces& hosts) {
  std::string pattern = "/tmp/orchid-bench-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) return fail_errno("mkdtemp");
  auto site = std::unique_ptr<FarSite>(new FarSite(pattern));
  auto gateway = LoneGateway::start(pattern, std::string(HostNamespaces::here) + ":0");
  if (!gateway) return fail(std::move(gateway.error()));
  site->gateway_.emplace(std::move(*gateway));
  if (auto started = site->start_executor(hosts); !started) return fail(started.error());
  return site;
}

FarSite::~FarSite() {
  executor_.reset();
  gateway_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

Result<void> FarSite::start_executor(const HostNamespaces& hosts) {
  std::vector<std::string> command = hosts.entry(0);
  for (const std::string& word : std::vector<std::string>{
           PROGRAMS "/orchid-executor", "--gateway", gateway_->host_and_port(), "--token-file",
           gateway_->token_file().string(), "--runtime", (directory_ / "run").string(), "--state",
           (directory_ / "state").string(), "--host-id", "there", "--lane-listen",
           HostNamespaces::address(0) + ":0"})
    command.push_back(word);
  auto started = ChildProcess::start(
      {.command = std::move(command), .output_file = directory_ / "executor.log"});
  if (!started) return fail(std::move(started.error()));
  executor_.emplace(std::move(*started));
  Client client = gateway_->client();
  return wait_until("the executor has joined", [&] {
    return !nlohmann::json::parse(client.get("/v1/hosts")).at("hosts").empty();
  });
}

}  // namespace orchid::bench
