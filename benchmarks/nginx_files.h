// benchmarks/nginx_files.h: the rival of data over HTTP: nginx with one worker process, which
// serves and takes files in /dev/shm.
#pragma once
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "foundation/result.h"
#include "harness/child_process.h"

namespace orchid::bench {

/// Ends with its owner; so does its directory. Used by one thread.
class NginxFiles {
 public:
  struct Options {
    std::string listen{};              // "IP:port" of a host of our own; empty: `socket`
    std::vector<std::string> entry{};  // words before the command, that lead to that host
  };
  /// It answers when this returns. Errors: `system`, `timed_out`.
  [[nodiscard]] static Result<NginxFiles> start(const Options& options);
  [[nodiscard]] static Result<NginxFiles> start() { return start(Options{}); }
  NginxFiles(NginxFiles&& other) noexcept;
  NginxFiles& operator=(NginxFiles&&) = delete;
  ~NginxFiles();

  [[nodiscard]] std::string socket() const { return directory_ / "nginx.sock"; }
  [[nodiscard]] const std::filesystem::path& directory() const { return directory_; }
  /// What it serves, and where what is PUT goes.
  [[nodiscard]] std::filesystem::path files() const { return directory_ / "files"; }

 private:
  NginxFiles(std::filesystem::path directory, ChildProcess process)
      : directory_(std::move(directory)), process_(std::move(process)) {}
  std::filesystem::path directory_;
  ChildProcess process_;
};

/// One transfer by curl with these words, from its start to its end, in milliseconds. `entry`: as
/// of NginxFiles. Errors: as of `output_of`.
[[nodiscard]] Result<std::vector<double>> timed_transfer(
    std::vector<std::string> words, const std::vector<std::string>& entry = {});

}  // namespace orchid::bench
