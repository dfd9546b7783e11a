// memory/memory_lease.h: the gateway's part of leased memory.
#pragma once
#include <chrono>
#include <string>
#include <string_view>

#include "api/session.h"
#include "orchid/memory.h"

namespace orchid::sdk {

struct MemoryGrant {
  std::string id;
  std::uint64_t bytes = 0;
  std::string node;
  std::string boot_id;
  std::string address;
  std::chrono::milliseconds expires_in{0};
  std::string key;  // never logged; empty: an earlier gateway has made it
};

/// Throws `orchid::Error` (`internal`) when the text is not what the API promises; `bad_request`
/// when it is a lease of workers.
[[nodiscard]] MemoryGrant parse_memory_grant(std::string_view text);
/// The body of POST /v1/leases.
[[nodiscard]] std::string memory_request(const MemoryOptions& options, std::string_view boot_id);

/// Each throws what the session does.
[[nodiscard]] MemoryGrant request_memory(Session& session, const MemoryOptions& options);
[[nodiscard]] MemoryGrant find_memory(Session& session, const std::string& id);  // without the key
[[nodiscard]] MemoryGrant renew_memory(Session& session, const std::string& id,
                                       std::chrono::milliseconds duration);
/// What of a lease may be shown.
[[nodiscard]] MemoryInfo describe_memory(const MemoryGrant& grant);
void release_memory(Session& session, const std::string& id);

}  // namespace orchid::sdk
