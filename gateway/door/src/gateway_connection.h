// src/gateway_connection.h: a guest's HTTP connection to the gateway: one request at a time, passed
// on byte by byte.
#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "foundation/clock.h"
#include "foundation/unique_fd.h"
#include "protocol/http_head.h"

namespace orchid::door {

/// Owned by the guest's thread. Trusts neither side to be quick, and the gateway to be itself.
class GatewayConnection {
 public:
  /// Longer ago used, a connection may be closed by the gateway at any moment (after 75 s).
  static constexpr std::chrono::seconds longest_idle{50};

  explicit GatewayConnection(UniqueFd socket) : socket_(std::move(socket)) {}
  /// Open, between two requests, and used not long ago.
  [[nodiscard]] bool is_usable() const;

  enum class End {
    answered,
    not_sent,     // the gateway has never seen the end of the request
    lost,         // it may have done what was asked
    client_gone,  // `client` became readable
    unsuitable,   // an answer that cannot be passed on: see `problem`
  };
  struct Exchange {
    std::span<const std::byte> request;  // head and body
    bool is_head = false;                // the answer has no body, whatever it says
    int client = -1;                     // becomes readable when nobody waits any more
    MonotonicTime deadline = MonotonicTime::max();
    /// Room for the whole answer; null: there is none.
    std::function<std::byte*(std::size_t)> room;
  };
  /// Not again unless it is usable.
  [[nodiscard]] End exchange(const Exchange& exchange);
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  enum class Step { done, more, ended };
  [[nodiscard]] Step send_some(const Exchange& exchange);
  [[nodiscard]] Step read_some();
  [[nodiscard]] End read_answer(const Exchange& exchange, const HttpHead& head, int status);
  [[nodiscard]] End read_body(const Exchange& exchange, std::span<std::byte> rest);
  [[nodiscard]] End wait(const Exchange& exchange, short events) const;
  [[nodiscard]] End refuse(std::string problem);

  UniqueFd socket_;
  bool clean_ = true;  // nothing of an exchange is left in it
  MonotonicTime used_ = std::chrono::steady_clock::now();
  std::size_t sent_ = 0;
  bool cannot_send_ = false;
  std::string head_;  // of the answer, with what came behind it
  std::string problem_;
};

}  // namespace orchid::door
