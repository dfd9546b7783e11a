// placement/request.h: what somebody wants to have placed, and where it was.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "foundation/error_code.h"
#include "placement/grant.h"

namespace orchid::placement {

/// What one worker needs.
struct WorkerShape {
  std::uint32_t cores = 1;  // at least 1
  ByteCount memory;
  std::uint32_t gpus = 0;
  std::string gpu_model;  // empty: any
  friend bool operator==(const WorkerShape&, const WorkerShape&) = default;
};

/// What a host must be like. Empty: anything will do.
struct Constraints {
  std::string host;          // name
  bool client_host = false;  // that of the request's client
  std::string architecture;
  std::optional<HostKind> kind;
  std::vector<std::string> features;  // all of them
  friend bool operator==(const Constraints&, const Constraints&) = default;
};

struct Request {
  TenantId tenant;
  /// Where its client runs, if that is known. Grants that only clients of their host can reach are
  /// looked at when the constraints say `client_host`.
  HostId client;
  std::uint32_t workers = 1;
  std::uint32_t at_least = 0;  // fewer than `workers` will do; 0: all or none
  /// In order of preference, for each worker by itself: "1 GPU, or else 4 cores".
  std::vector<WorkerShape> alternatives{WorkerShape{}};
  Constraints constraints;
  std::chrono::milliseconds lifetime{0};  // the grant must last so much longer
  std::optional<double> watts_at_most;    // of the host, this worker included
  std::vector<HostId> near;               // for the policy `near`, the nearest first
  /// For policies: how many workers of what it belongs to are on which host already, where each
  /// worker is a request of its own.
  std::vector<std::pair<HostId, std::uint32_t>> has;
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
