// gateway_process.h: a real orchid-gateway with a state directory of its own.
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "http_client.h"
#include "processes/child_process.h"

namespace orchid::test {

class GatewayProcess {
 public:
  /// Starts with these further flags and waits until it takes requests.
  explicit GatewayProcess(std::vector<std::string> flags = {});
  ~GatewayProcess();
  GatewayProcess(const GatewayProcess&) = delete;
  GatewayProcess& operator=(const GatewayProcess&) = delete;

  void start();
  /// Sends SIGTERM and waits; the exit status.
  int stop();
  void kill();
  [[nodiscard]] HttpConnection connect() const { return HttpConnection::to_url(url()); }
  [[nodiscard]] std::string url(std::size_t i = 0) const { return ready_["urls"][i]; }
  [[nodiscard]] std::size_t url_count() const { return ready_["urls"].size(); }
  [[nodiscard]] std::filesystem::path socket() const { return ready_["socket"].get<std::string>(); }
  [[nodiscard]] std::string door() const { return ready_["door"]; }
  [[nodiscard]] const std::filesystem::path& state() const { return state_; }
  [[nodiscard]] std::string token() const;
  [[nodiscard]] pid_t pid() const { return process_->pid(); }
  /// One request on a connection of its own, with the token.
  [[nodiscard]] Answer ask(Ask ask) const;

 private:
  std::vector<std::string> flags_;
  std::filesystem::path state_;
  nlohmann::json ready_;
  std::optional<processes::ChildProcess> process_;
};

/// Bitcode of a C source, made by clang.
[[nodiscard]] std::string compile_bitcode(const std::string& source);
/// A module with an entry `echo`, made different from others by `salt`.
[[nodiscard]] std::string echo_module(int salt = 0);
/// The exit status of a program that must end by itself, and what it said on standard error.
struct Ended {
  int status;
  std::string errors;
};
[[nodiscard]] Ended run_to_end(const std::vector<std::string>& command);

}  // namespace orchid::test
