// reclaim/site.h: a gateway and executors whose cores a batch job could have granted, on this host.
#pragma once
#include <doctest/doctest.h>
#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "command.h"
#include "harness/child_process.h"
#include "local_executor.h"
#include "orchid/client.h"

namespace orchid::tests {

template <typename Condition>
bool eventually(Condition condition, std::chrono::seconds patience = std::chrono::seconds(20)) {
  const auto give_up = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    std::this_thread::yield();
  }
  return true;
}

/// Owned by the test's thread; ends with it.
class Site {
 public:
  /// With a `host` all executors count as that machine's, which is reached over UCX; pilots of a
  /// host of their own are for sites without.
  explicit Site(std::string host = "");
  [[nodiscard]] Client client() const;
  [[nodiscard]] CommandResult orchid(std::vector<std::string> words, std::string input = {}) const;
  void deploy(const std::string& test_function) const;
  /// Returns when the gateway knows it. `wrapper`: words before the program.
  [[nodiscard]] bench::ChildProcess start_executor(
      const std::vector<std::string>& flags, const std::vector<std::string>& wrapper = {},
      std::chrono::seconds patience = std::chrono::seconds(20));
  /// A pilot's executor with that core. With a `host` it counts as another machine, which is
  /// reached over UCX.
  [[nodiscard]] bench::ChildProcess start_pilot(unsigned core, const std::string& host = "");
  /// As `start_executor`, but whatever comes of it.
  [[nodiscard]] bench::ChildProcess launch(const std::vector<std::string>& flags,
                                           const std::vector<std::string>& wrapper = {});
  /// What the executor that was started last has logged.
  [[nodiscard]] std::string log() const;
  [[nodiscard]] std::filesystem::path socket() const { return directory_.path() / "gateway.sock"; }
  /// Until a call of that function runs.
  [[nodiscard]] bool runs(const std::string& function) const;
  void kill_gateway() { gateway_.reset(); }

 private:
  TemporaryDirectory directory_;
  std::string host_;
  std::optional<bench::ChildProcess> gateway_;
  unsigned executors_ = 0;
};

}  // namespace orchid::tests
