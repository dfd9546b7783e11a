// placement/policy.h: which of the places that fit is taken. docs/guide/placement-policy.md says
// how a site writes its own.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "placement/request.h"

namespace orchid::placement {

/// The order in which places are offered. A policy never sees all hosts of a large cluster: what is
/// not near the front of its order has to wait.
enum class Order : std::uint8_t {
  fewest_free,  // cores; ascending
  most_free,
  least_watts,    // expected; hosts whose power is unknown come last
  nearest_first,  // the hosts that the request names, then `fewest_free`
};

/// A grant with room for the worker. Borrowed: valid during the call.
struct Candidate {
  const Host& host;
  const Grant& grant;
  std::uint32_t cores_free = 0;  // of the grant
  std::uint32_t gpus_free = 0;
  ByteCount memory_free;
  std::optional<double> watts;  // expected of the host now, this worker not included
  std::optional<std::chrono::milliseconds> remaining;  // none: it has no end
  std::uint32_t workers_here = 0;                      // of the same request, on this host
  std::optional<std::uint32_t> near_rank;              // among the hosts that are near
};

/// Called by the thread that owns the Placement. An implementation keeps no state that its answer
/// depends on: the same request at the same state must get the same place.
class Policy {
 public:
  static constexpr std::uint32_t most_candidates = 64;

  virtual ~Policy() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual Order order() const = 0;
  /// How many candidates are compared, 1 to `most_candidates`. Each costs time.
  [[nodiscard]] virtual std::uint32_t candidates() const { return 1; }
  /// The lowest score wins, among equals the first in the order. Nothing: not there.
  [[nodiscard]] virtual std::optional<double> score(const Request& request,
                                                    const WorkerShape& shape,
                                                    const Candidate& candidate) const noexcept = 0;
};

/// Fills hosts that are in use already, so that others stay whole for large requests, or asleep.
[[nodiscard]] std::unique_ptr<Policy> make_pack_policy();
/// Different hosts for the workers of a lease, and the least busy ones.
[[nodiscard]] std::unique_ptr<Policy> make_spread_policy();
/// Where the request's data is, else like `pack`.
[[nodiscard]] std::unique_ptr<Policy> make_near_policy();
/// Hosts that draw the least power.
[[nodiscard]] std::unique_ptr<Policy> make_energy_policy();
/// By name. Errors: `not_found`.
[[nodiscard]] Result<std::unique_ptr<Policy>> make_policy(std::string_view name);

}  // namespace orchid::placement
