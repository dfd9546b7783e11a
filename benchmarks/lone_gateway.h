// benchmarks/lone_gateway.h: a gateway without an executor beside it: all capacity is elsewhere.
#pragma once
#include <filesystem>
#include <string>

#include "foundation/result.h"
#include "harness/child_process.h"
#include "orchid/client.h"

namespace orchid::bench {

/// As a site's service file starts it. Used by one thread; ends with its owner.
class LoneGateway {
 public:
  /// What it keeps goes into `directory`, which is the caller's. `listen`: "IP:port". Errors:
  /// `timed_out`, `system`.
  [[nodiscard]] static Result<LoneGateway> start(const std::filesystem::path& directory,
                                                 const std::string& listen);

  [[nodiscard]] const std::string& url() const { return url_; }
  [[nodiscard]] const std::string& token() const { return token_; }
  [[nodiscard]] std::string host_and_port() const { return url_.substr(url_.rfind('/') + 1); }
  [[nodiscard]] const std::filesystem::path& token_file() const { return token_file_; }
  [[nodiscard]] const std::filesystem::path& socket() const { return socket_; }
  [[nodiscard]] Client client() const { return Client({.gateway = url_, .token = token_}); }

 private:
  explicit LoneGateway(ChildProcess program) : program_(std::move(program)) {}
  ChildProcess program_;
  std::filesystem::path token_file_;
  std::filesystem::path socket_;
  std::string url_;
  std::string token_;
};

}  // namespace orchid::bench
