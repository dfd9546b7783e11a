// placement/request.h: what somebody wants to have placed, and where it was.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "foundation/error_code.h"
#include "placement/grant.h"
#include "placement/worker_request.h"

namespace orchid::placement {

/// Who asks, and for how many workers at once.
struct Request {
  TenantId tenant{};
  std::uint32_t workers = 1;
  std::uint32_t at_least = 0;  // fewer than `workers` will do; 0: all or none
  WorkerRequest worker{};      // each of them
  /// For policies: how many workers of what it belongs to are on which host already, where each
  /// worker is a request of its own.
  std::vector<std::pair<HostId, std::uint32_t>> has{};
};

/// Of the decision; when workers were placed, also of their lease.
using DecisionId = StrongId<struct DecisionIdTag>;

/// Where one worker is. A value.
struct Place {
  HostId host;
  GrantId grant;
  CoreSet cores;
  ByteCount memory;
  CoreSet gpus;
  std::uint32_t alternative = 0;  // of the request
  friend bool operator==(const Place&, const Place&) = default;
};

struct Refusal {
  ErrorCode code = ErrorCode::no_capacity;  // or `quota`, `bad_request`
  std::string message;
};

struct Decision {
  DecisionId id;
  std::vector<Place> places;  // a worker each; empty when it is refused
  std::optional<Refusal> refusal;
  [[nodiscard]] bool placed() const { return !refusal; }
};

/// Workers that have to go: their cores are no longer theirs. Once a lease has no place left, it is
/// closed.
struct Displaced {
  DecisionId lease;
  TenantId tenant;
  std::vector<Place> places;
  bool closed = false;
};

}  // namespace orchid::placement
