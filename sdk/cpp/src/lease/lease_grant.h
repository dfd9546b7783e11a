// lease/lease_grant.h: what the gateway grants: a lease, and for each of its workers where and with
// what to claim it.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/result.h"
#include "orchid/error.h"
#include "orchid/lease.h"
#include "protocol/lease_id.h"

namespace orchid::sdk {

struct GrantedWorker {
  LeaseId lease;           // of this worker alone
  std::string secret;      // never logged
  std::string executor{};  // its id; older gateways do not say it
  std::string node;
  std::string boot_id;
  std::string lane_socket;
  std::string lane_address;  // for lanes between hosts; may be empty
  unsigned cores = 1;
  std::uint64_t memory = 0;  // bytes; 0: not stated
  std::vector<unsigned> gpus{};
  std::string gpu_model{};
};

struct LeaseGrant {
  std::string id;
  unsigned cores_per_worker = 1;
  std::uint64_t memory = 0;  // bytes for each worker
  std::chrono::milliseconds expires_in{0};
  std::vector<GrantedWorker> workers;
};

/// As the API says it.
[[nodiscard]] std::string_view word_of(Wait wait);
/// Of an answer that is not what the API promises of a lease: `internal`.
[[nodiscard]] Error unintelligible_lease(const Failure& fault);
/// Throws `unintelligible_lease`.
[[nodiscard]] LeaseGrant parse_lease_grant(std::string_view text);
/// What the workers of a lease are to each other.
enum class WorkersAre : std::uint8_t { apart, crew };
/// The body of POST /v1/leases.
/// `images`: architectures that the functions of the lease have images for; empty: any will do.
[[nodiscard]] std::string lease_request(const LeaseOptions& options, std::string_view boot_id,
                                        const std::vector<std::string>& images = {},
                                        WorkersAre workers = WorkersAre::apart);
/// The body of PATCH /v1/leases/ID.
[[nodiscard]] std::string renewal_request(std::chrono::milliseconds duration,
                                          const std::vector<LeaseId>& lost);

}  // namespace orchid::sdk
