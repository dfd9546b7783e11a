// http/request_loop.h: many HTTP requests at once, all by one thread. Where hundreds of short ones
// are under way, a thread for each costs more than the requests do.
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "http/http_exchange.h"

namespace orchid::sdk {

/// Any thread, but for what is said otherwise.
class RequestLoop {
 public:
  /// The answer, whatever its status; nothing: none has come. Called on the loop's own thread, once
  /// for each request, and never after the loop has gone. Does not wait, and does not throw.
  using Done = std::function<void(std::optional<HttpResponse>)>;
  /// A door is none that it goes through. Throws `orchid::Error`.
  explicit RequestLoop(Endpoint endpoint);
  /// What is under way is given up.
  ~RequestLoop();
  RequestLoop(const RequestLoop&) = delete;
  RequestLoop& operator=(const RequestLoop&) = delete;

  /// The body of `request` is `body`. It does not stream.
  void start(HttpRequest request, std::vector<std::byte> body, Done done);

 private:
  struct Exchange;
  void work();
  [[nodiscard]] bool begin_new();
  void begin(std::unique_ptr<Exchange> exchange);
  void end_finished();
  void give_up();

  Endpoint endpoint_;
  void* multi_ = nullptr;                             // CURLM
  std::vector<void*> idle_;                           // CURL; the loop's
  std::vector<std::unique_ptr<Exchange>> under_way_;  // the loop's
  std::mutex mutex_;
  std::vector<std::unique_ptr<Exchange>> new_;  // guarded by mutex_, as the next
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace orchid::sdk
