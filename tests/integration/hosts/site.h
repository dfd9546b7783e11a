// hosts/site.h: an Orchid over several hosts, started by hand as a site's service files do: a
// gateway here, and an executor on each of two hosts that it only reaches over the network.
#pragma once
#include <sys/types.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "command.h"
#include "harness/child_process.h"
#include "host_namespaces.h"
#include "local_executor.h"
#include "orchid/client.h"

namespace orchid::tests {

extern std::optional<HostNamespaces> hosts;  // of main.cpp; nothing: not permitted here

/// For as long as it lives, a host hears nothing and is not heard.
class Unplugged {
 public:
  explicit Unplugged(unsigned host);
  ~Unplugged();
  Unplugged(const Unplugged&) = delete;
  Unplugged& operator=(const Unplugged&) = delete;

 private:
  unsigned host_;
};

template <typename Condition>
bool eventually(Condition condition, std::chrono::seconds patience) {
  const auto give_up = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

[[nodiscard]] std::vector<std::byte> module_bytes_of(const std::filesystem::path& file);
/// A test function.
[[nodiscard]] std::vector<std::byte> module_bytes(const std::string& name);

/// Owned by the test's thread; ends with it.
class Site {
 public:
  static constexpr unsigned host_count = 2;
  struct Options {
    std::vector<std::string> gateway_flags{};
    /// Words before each host's executor: "env", "A=b"
    std::array<std::vector<std::string>, host_count> executor_wrappers{};
  };
  Site() : Site(Options{}) {}
  /// Returns when both hosts are there; the test fails when they are not within a time.
  explicit Site(const Options& options);

  [[nodiscard]] Client client() const;
  /// `orchid WORDS…` on a host, which comes in through the gateway's door: it needs the flag
  /// --door-listen.
  [[nodiscard]] CommandResult through_the_door(unsigned host, std::vector<std::string> words,
                                               std::string input = {}) const;
  /// Those of the gateway that run this program.
  [[nodiscard]] std::vector<pid_t> processes(const std::string& program) const;
  /// The gateway ends, as in a site's maintenance; and is there again, at the same address.
  void stop_gateway();
  void start_gateway();
  /// Its owner wants a host's cores back: the executor is told (SIGTERM), and has ended on return.
  void take_back(unsigned host);
  /// The host is offered again. Returns when it is there.
  void offer_again(unsigned host);
  [[nodiscard]] pid_t executor(unsigned host) const { return executors_.at(host).pid(); }

 private:
  [[nodiscard]] std::string token() const;
  [[nodiscard]] std::size_t hosts_there() const;
  [[nodiscard]] bench::ChildProcess start(const std::vector<std::string>& command,
                                          const std::string& name) const;
  [[nodiscard]] bench::ChildProcess start_executor(unsigned host) const;

  TemporaryDirectory directory_;
  std::string gateway_flags_;
  std::array<std::vector<std::string>, host_count> executor_wrappers_;
  std::string address_;
  std::string door_;  // empty: there is none
  std::filesystem::path token_file_;
  std::optional<bench::ChildProcess> gateway_;
  std::vector<bench::ChildProcess> executors_;
};

}  // namespace orchid::tests
