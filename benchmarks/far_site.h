// benchmarks/far_site.h: a gateway on this host and executors on others: network namespaces that a
// bridge joins.
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
  struct Options {
    unsigned executors = 1;            // on the first so many hosts
    std::vector<std::string> flags{};  // more words for each executor
    /// They say that they are on machines of their own, where the gateway puts no data; false: they
    /// say what is true.
    bool apart = true;
  };
  /// Errors: `timed_out`, `system`.
  [[nodiscard]] static Result<std::unique_ptr<FarSite>> start(const tests::HostNamespaces& hosts) {
    return start(hosts, Options{});
  }
  [[nodiscard]] static Result<std::unique_ptr<FarSite>> start(const tests::HostNamespaces& hosts,
                                                              const Options& options);
  ~FarSite();
  FarSite(const FarSite&) = delete;
  FarSite& operator=(const FarSite&) = delete;

  [[nodiscard]] Client client() const { return gateway_->client(); }
  [[nodiscard]] const LoneGateway& gateway() const { return *gateway_; }
  /// A host's executor, and everything below it.
  [[nodiscard]] std::vector<pid_t> processes(unsigned host = 0) const {
    return process_tree(executors_.at(host).pid());
  }

 private:
  explicit FarSite(std::filesystem::path directory) : directory_(std::move(directory)) {}
  [[nodiscard]] Result<void> start_executor(const tests::HostNamespaces& hosts, unsigned host,
                                            const Options& options);

  std::filesystem::path directory_;
  std::optional<LoneGateway> gateway_;
  std::vector<ChildProcess> executors_;  // by host
};

}  // namespace orchid::bench
