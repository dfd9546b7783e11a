// benchmarks/far_site.h: a gateway on this host and an executor on another one: two network
// namespaces that a bridge joins.
#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "foundation/result.h"
#include "harness/child_process.h"
#include "harness/machine.h"
#include "hosts/host_namespaces.h"
#include "lone_gateway.h"

namespace orchid::bench {

/// The programs as a site's service files start them. Its directory goes with it. Used by one
/// thread.
class FarSite {
 public:
  /// The executor is on `hosts`' first. Errors: `timed_out`, `system`.
  [[nodiscard]] static Result<std::unique_ptr<FarSite>> start(const tests::HostNamespaces& hosts);
  ~FarSite();
  FarSite(const FarSite&) = delete;
  FarSite& operator=(const FarSite&) = delete;

  [[nodiscard]] Client client() const { return gateway_->client(); }
  /// The executor, and everything below it.
  [[nodiscard]] std::vector<pid_t> processes() const { return process_tree(executor_->pid()); }

 private:
  explicit FarSite(std::filesystem::path directory) : directory_(std::move(directory)) {}
  [[nodiscard]] Result<void> start_executor(const tests::HostNamespaces& hosts);

  std::filesystem::path directory_;
  std::optional<LoneGateway> gateway_;
  std::optional<ChildProcess> executor_;
};

}  // namespace orchid::bench
