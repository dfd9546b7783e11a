// http/curl_exchange.h: one HTTP request and its answer, as curl carries them.
#pragma once
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>

#include "http/http_exchange.h"

struct curl_slist;

namespace orchid::sdk {

/// Where an exchange goes, and what of it curl keeps in memory.
struct CurlWay {
  const Endpoint& endpoint;
  const std::string& socket_path;  // fits sockaddr_un; empty: none
  long buffer_bytes = 256L * 1024;
};

/// Used by one thread. curl knows its address for as long as the handle is busy.
class CurlExchange {
 public:
  using Handle = void;  // CURL
  /// Tells the handle what to do. All outlive it. Throws `orchid::Error`: `bad_request`.
  CurlExchange(Handle* handle, const CurlWay& way, const HttpRequest& request);
  CurlExchange(const CurlExchange&) = delete;
  CurlExchange& operator=(const CurlExchange&) = delete;

  /// When curl has done it, and said `code`. Any complete answer, whatever its status. Throws
  /// `orchid::Error`: `unreachable`, `timed_out`; and what a stream has thrown.
  [[nodiscard]] HttpResponse finish(int code);

  struct FreeHeaders {
    void operator()(curl_slist* list) const;
  };
  /// What curl's callbacks learn.
  struct Seen {
    const HttpRequest& request;
    Handle* curl = nullptr;
    HttpResponse response{};
    std::exception_ptr failure{};                      // of what streams
    std::int64_t body_size = 0;                        // of the request
    std::chrono::steady_clock::time_point sent{};      // its last byte; the epoch: not yet
    std::chrono::steady_clock::time_point answered{};  // the first line of the answer

    [[nodiscard]] bool streams_answer() const;
  };

 private:
  static constexpr std::size_t detail_bytes = 256;  // CURL_ERROR_SIZE
  void set_ways(const CurlWay& way);
  void set_callbacks();

  const Endpoint& endpoint_;
  Seen seen_;
  std::string url_;
  std::array<char, detail_bytes> detail_{};
  std::unique_ptr<curl_slist, FreeHeaders> headers_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

}  // namespace orchid::sdk
