// session.h: what a Client and its handles share: connections, and the gateway's API as functions.
#pragma once
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "http/http_exchange.h"
#include "orchid/client.h"

namespace orchid::sdk {

struct LeaseThreads;

/// Any thread. All functions throw `orchid::Error`.
class Session {
 public:
  /// Throws what the way to the endpoint throws when it is made.
  explicit Session(Endpoint endpoint);

  /// An answer below 400; others are thrown as Errors.
  [[nodiscard]] HttpResponse request(const HttpRequest& request);
  [[nodiscard]] HttpResponse get(std::string target,
                                 std::chrono::milliseconds timeout = default_timeout);
  [[nodiscard]] const Endpoint& endpoint() const { return exchange_->endpoint(); }

  /// Of all leases that are held now; made when there are none.
  [[nodiscard]] std::shared_ptr<LeaseThreads> lease_threads();

  static constexpr std::chrono::milliseconds default_timeout{30'000};
  /// How long an answer may take beyond the deadline that the gateway itself keeps.
  static constexpr std::chrono::milliseconds answer_grace{5'000};
  /// For a call without a stated deadline: the gateway answers 202 long before.
  static constexpr std::chrono::milliseconds longest_answer{180'000};

 private:
  std::unique_ptr<HttpExchange> exchange_;
  std::mutex mutex_;
  std::weak_ptr<LeaseThreads> lease_threads_;  // guarded by mutex_; the leases keep them
};

/// `name` as one part of a path.
[[nodiscard]] std::string escape_path(std::string_view name);

}  // namespace orchid::sdk
