// http/connection_pool.h: HTTP requests over kept connections. The only place of the SDK that knows
// libcurl.
#pragma once
#include <mutex>
#include <string>
#include <vector>

#include "http/http_exchange.h"

namespace orchid::sdk {

/// Any thread. One connection carries one request at a time; idle ones are kept for the next
/// request.
class ConnectionPool final : public HttpExchange {
 public:
  /// Throws `orchid::Error` when the socket's directory cannot be opened.
  explicit ConnectionPool(Endpoint endpoint);
  ~ConnectionPool() override;

  [[nodiscard]] HttpResponse perform(const HttpRequest& request) override;
  [[nodiscard]] const Endpoint& endpoint() const override { return endpoint_; }

 private:
  using Handle = void;  // CURL
  [[nodiscard]] Handle* take();
  void give_back(Handle* handle);

  Endpoint endpoint_;
  std::string socket_path_;    // fits sockaddr_un; may go through `socket_directory_`
  int socket_directory_ = -1;  // open while the path needs it
  std::mutex mutex_;
  std::vector<Handle*> idle_;  // guarded by mutex_; the most recently used is last
};

}  // namespace orchid::sdk
