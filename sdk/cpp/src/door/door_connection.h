// door/door_connection.h: one way into a gateway through its orchid-door: a lane over UCX, and the
// plain TCP connection that it was made with (docs/PROTOCOL.md, "The door").
#pragma once
#include <chrono>
#include <memory>
#include <string_view>
#include <variant>

#include "foundation/unique_fd.h"
#include "http/http_exchange.h"
#include "transport/ucx_lane.h"

namespace orchid::sdk {

/// Used by one thread at a time. Carries one request at a time.
class DoorConnection {
 public:
  using Deadline = std::chrono::steady_clock::time_point;
  /// Throws `orchid::Error`: `unreachable`, `timed_out`, `unsupported` (no UCX at either end, other
  /// versions), and whatever gateway or door answer to the token.
  [[nodiscard]] static std::unique_ptr<DoorConnection> open(const Endpoint& endpoint,
                                                            Deadline deadline);

  /// The connection has ended, and is of no use any more.
  struct Ended {
    bool maybe_done = false;  // the gateway may have seen the request
    std::string_view why;     // a literal
  };
  /// `head`: of the request, with its empty line. After an Error the connection is of no use.
  /// Throws `orchid::Error`: `timed_out`, `too_large`, `internal` (no answer that we understand).
  [[nodiscard]] std::variant<HttpResponse, Ended> perform(std::string_view head,
                                                          std::span<const std::byte> body,
                                                          Deadline deadline);

 private:
  DoorConnection(UniqueFd control, transport::UcxLaneClient lane)
      : control_(std::move(control)), lane_(std::move(lane)) {}
  [[nodiscard]] bool has_ended(int timeout_ms) const;
  [[nodiscard]] Ended end();
  [[nodiscard]] bool send(std::string_view head, std::span<const std::byte> body);
  [[nodiscard]] bool sleep(Deadline deadline);
  [[nodiscard]] HttpResponse take(const transport::LaneResponse& response);

  UniqueFd control_;  // readable at its end only
  transport::UcxLaneClient lane_;
  std::uint64_t sent_ = 0;   // requests
  std::size_t largest_ = 0;  // that this exchange has moved
};

}  // namespace orchid::sdk
