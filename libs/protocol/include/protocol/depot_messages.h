// protocol/depot_messages.h: what an executor's agent and the depot of a tenant tell each other
// over a packet socket, as JSON (docs/PROTOCOL.md §11).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "foundation/result.h"
#include "foundation/units.h"
#include "protocol/lease_tenant.h"
#include "protocol/service_messages.h"

namespace orchid {

// From the agent.

/// The first message. The depot confines itself, and answers `DepotReady`.
struct DepotStart {
  LeaseTenant tenant;    // whose it is, and nobody else's
  ByteCount data_limit;  // of its own memory
};
/// Descriptor: the depot's end of that worker's service socket, of which the agent keeps a
/// duplicate. The depot serves it until the worker's end has gone.
struct DepotServe {
  std::uint64_t worker = 0;
  /// A depot before this one may have taken a request and not answered it: the worker is told so.
  bool again = false;
};
/// The answer to a `DepotAsked`. Descriptor: what the worker has asked for, if it has.
struct DepotAnswer {
  std::uint64_t worker = 0;
  ServiceAnswer answer;
};

// From the depot.

/// Confined, and waiting for workers.
struct DepotReady {};
/// A worker's request, which keeps the rules.
struct DepotAsked {
  std::uint64_t worker = 0;
  ServiceRequest request;
};
/// A worker has sent what none of ours sends. The depot has hung up.
struct DepotNonsense {
  std::uint64_t worker = 0;
};
/// A worker could not be sent what it waits for, through no fault of its own. The depot has hung
/// up.
struct DepotUnserved {
  std::uint64_t worker = 0;
};

using DepotMessage = std::variant<DepotStart, DepotServe, DepotAnswer, DepotReady, DepotAsked,
                                  DepotNonsense, DepotUnserved>;

[[nodiscard]] std::string encode(const DepotMessage& message);
/// Errors: `bad_request`, naming the field that is missing or wrong.
[[nodiscard]] Result<DepotMessage> parse_depot_message(std::string_view text);

}  // namespace orchid
