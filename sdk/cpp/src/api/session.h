// api/session.h: what a Client and its handles share: connections, and the gateway's API as
// functions.
#pragma once
#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "http/http_exchange.h"
#include "orchid/client.h"

namespace orchid::sdk {

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

  /// Whether it is asked to leave out the nodes of flows: not any more once it has refused that
  /// word, as gateways do that are older.
  [[nodiscard]] bool asks_briefly() const { return asks_briefly_; }
  void ask_at_length() { asks_briefly_ = false; }

  static constexpr std::chrono::milliseconds default_timeout{30'000};
  /// How long an answer may take beyond the deadline that the gateway itself keeps.
  static constexpr std::chrono::milliseconds answer_grace{5'000};
  /// For a call without a stated deadline: the gateway answers 202 long before.
  static constexpr std::chrono::milliseconds longest_answer{180'000};
  /// So long who waits for an invocation bears a gateway that is away, and asks again so often.
  static constexpr std::chrono::milliseconds restart_patience{10'000};
  static constexpr std::chrono::milliseconds restart_pause{100};

 private:
  std::unique_ptr<HttpExchange> exchange_;
  std::atomic<bool> asks_briefly_{true};
};

}  // namespace orchid::sdk
