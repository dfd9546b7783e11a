// protocol/memory_messages.h: what an executor and the gateway say about leases of memory over the
// control connection (docs/PROTOCOL.md §2, "Leased memory").
//
// A lease of memory is a memory file of zero pages on an executor, which is charged to its memory
// for data, and which one client at a time reads and writes through a process of the executor's.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "foundation/error_code.h"
#include "foundation/units.h"
#include "protocol/lease_id.h"
#include "protocol/lease_tenant.h"

namespace orchid {

enum class WaitMode : std::uint8_t;
enum class LeaseEnd : std::uint8_t;

// Numbered messages of the gateway, to executors whose hello has `leases_memory`.

/// Charged whole at once. Idempotent by its id.
struct LeaseMemory {
  LeaseId lease;
  LeaseTenant tenant;
  ByteCount bytes;
  std::string key;  // 32 hexadecimal digits: whose has it is served. Never logged.
  WaitMode wait{};  // of who serves, for the next request
  std::chrono::milliseconds expires_in{0};  // from now
};

/// From now on it lasts so long. One that is not there is answered with `MemoryEnded`.
struct RenewMemory {
  LeaseId lease;
  std::chrono::milliseconds expires_in{0};
};

/// Idempotent: answered by `MemoryEnded` also when there is no such lease.
struct EndMemory {
  LeaseId lease;
};

// Numbered messages of the executor.

/// Somebody with the key is served there. Said again after a client has left, with another address
/// and another key: whoever comes to the old port with the old one meets nobody who knows it.
struct MemoryLeased {
  LeaseId lease;
  std::string address;  // "host:port"
  std::string key;      // 32 hexadecimal digits: of the order at first. Never logged.
};

struct MemoryRefused {
  LeaseId lease;
  ErrorCode code = ErrorCode::internal;  // no_data_memory, quota, unsupported, system, …
  std::string message;
};

/// Nothing of it is there any more, and nothing of it is charged.
struct MemoryEnded {
  LeaseId lease;
  LeaseEnd reason{};
};

// What calls ask for: to a gateway whose welcome has `finds_memory`. The executor numbers its
// questions; the gateway answers each.

/// Where a lease of this tenant is served.
struct FindMemory {
  std::uint64_t question = 0;
  LeaseTenant tenant;
  LeaseId lease;
};

struct MemoryFound {
  std::uint64_t question = 0;
  std::string address;  // "host:port"
  std::string key;      // 32 hexadecimal digits. Never logged.
  ByteCount bytes;
  WaitMode wait{};
  std::string host;  // for people
};

struct MemoryNotFound {
  std::uint64_t question = 0;
  ErrorCode code = ErrorCode::internal;  // not_found, unreachable, unsupported, denied
  std::string message;
};

/// A lease of memory that an executor has.
struct MemoryHeld {
  LeaseId lease;
  LeaseTenant tenant;
  ByteCount bytes;
  WaitMode wait{};
  std::chrono::milliseconds expires_in{0};  // from now
  std::string address;                      // "": nobody listens at this moment
};

using MemoryLeaseMessage =
    std::variant<LeaseMemory, RenewMemory, EndMemory, MemoryLeased, MemoryRefused, MemoryEnded,
                 FindMemory, MemoryFound, MemoryNotFound>;

}  // namespace orchid
