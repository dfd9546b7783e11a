// aarch64/mixed_site.h: one Orchid with two kinds of processors: a gateway and an executor on this
// machine, and an executor in an emulated Arm machine that reaches them over a network.
#pragma once
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/child_process.h"
#include "orchid/client.h"
#include "scratch_folder.h"

namespace orchid::tests {

/// Owned by the test's thread; ends with it. It lives in the network namespace that
/// dev.d/test_aarch64 makes, where this machine is `here` and the emulated one `there`.
class MixedSite {
 public:
  static constexpr const char* here = "198.51.100.2";
  static constexpr const char* there = "198.51.100.1";
  static constexpr const char* machine = "arm";  // the emulated one's host name

  /// Returns when both executors have joined. Throws std::runtime_error, with what the programs
  /// said, when they do not within a time.
  MixedSite();

  [[nodiscard]] Client client() const;
  /// `orchid WORDS…`; throws std::runtime_error when it fails.
  std::string orchid(std::vector<std::string> words, std::string input = {}) const;
  /// A module built from this source with images for these targets, as `orchid build` names them.
  [[nodiscard]] std::filesystem::path module(const std::filesystem::path& source,
                                             const std::vector<std::string>& targets) const;
  /// What gateway and executors have logged, to be shown when a test fails.
  [[nodiscard]] std::string logs() const;

 private:
  void start_gateway();
  void start_executors();
  void wait_for_hosts() const;
  [[nodiscard]] bench::ChildProcess start(const std::vector<std::string>& command,
                                          const std::string& name) const;

  Scratch folder_;
  std::string address_;  // "198.51.100.2:PORT"
  std::string token_;
  std::vector<bench::ChildProcess> processes_;  // the last one started is the first to end
};

}  // namespace orchid::tests
