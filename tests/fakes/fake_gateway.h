// fakes/fake_gateway.h: an HTTP server on loopback that answers as a test says.
#pragma once
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "foundation/unique_fd.h"

namespace orchid::tests {

struct FakeRequest {
  std::string method;
  std::string target;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
  std::size_t connection = 0;  // counted from 0
  [[nodiscard]] std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

struct FakeAnswer {
  int status = 200;
  std::string body;
  std::vector<std::string> headers;  // "Name: value"
  bool hang_up = false;              // no answer at all
};

/// Serves from a thread of its own until it is destroyed. The handler runs on that thread.
class FakeGateway {
 public:
  using Handler = std::function<FakeAnswer(const FakeRequest&)>;
  explicit FakeGateway(Handler handler);
  /// On a Unix socket instead.
  FakeGateway(const std::filesystem::path& socket, Handler handler);
  ~FakeGateway();
  FakeGateway(const FakeGateway&) = delete;
  FakeGateway& operator=(const FakeGateway&) = delete;

  [[nodiscard]] const std::string& address() const { return address_; }
  /// What was asked so far.
  [[nodiscard]] std::vector<FakeRequest> requests() const;

 private:
  struct Connection {
    UniqueFd socket;
    std::size_t number = 0;
    std::string received;
  };
  void start();
  void serve();
  [[nodiscard]] bool take(Connection& connection);
  [[nodiscard]] bool answer(Connection& connection, const FakeRequest& request);
  [[nodiscard]] static bool say(const Connection& connection, const std::string& text);

  Handler handler_;
  std::string address_;
  UniqueFd listener_;
  UniqueFd end_;  // readable when the thread is to stop
  mutable std::mutex mutex_;
  std::vector<FakeRequest> requests_;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace orchid::tests
