// protocol/grant_messages.h: what a placeholder in a batch job and its host's service say
// (docs/PROTOCOL.md, "Placeholder and host").
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "foundation/result.h"
#include "foundation/units.h"
#include "protocol/control_messages.h"
#include "protocol/limits.h"

namespace orchid {

constexpr std::uint32_t grant_protocol_version = 1;

/// The placeholder's first message. Whose the job is, and which cores it has, the host finds out by
/// itself. No descriptor ever goes to the host: to close one may take as long as its sender likes.
struct GrantOffer {
  std::uint32_t protocol = grant_protocol_version;
  GrantSource source = GrantSource::pilot;  // never local
  std::uint64_t job = 0;
  GrantUsers users = GrantUsers::owner;  // that its owner wants
  CoreList cores;                        // of the job's, by the operating system's numbers;
                                         // empty: all that the step has on this host
  ByteCount memory;                      // 64 MiB and more; 0: not limited
  std::optional<std::chrono::seconds> ends_in;
  std::chrono::seconds gateway_grace = limits::gateway_grace;  // 1 s to 1 day
  bool gives_way = true;    // what runs there runs only where nobody else wants to
  ByteCount bandwidth_cap;  // bytes per second, 64 MiB and more; 0: none
  bool feed = false;        // it will say again and again which of the cores may be used now
};

/// The host's answer. An executor is being started. With it comes, if the offer says so, the
/// writing end of the pipe from which the executor learns which of the cores it may use now.
struct GrantTaken {
  std::int64_t executor = 0;  // process id
  CoreList cores;
};

/// The host's answer, or what comes instead of anything else later. It closes the connection then.
struct GrantRefused {
  ErrorCode code = ErrorCode::internal;
  std::string message;
};

/// The placeholder's: its cores have to be free now.
struct GrantLeave {};

/// The host's last message: nobody is on the cores any more.
struct GrantClear {
  bool in_order = false;  // it was asked to, or its time was over
  std::string message;    // how the executor ended, for people
};

using GrantMessage = std::variant<GrantOffer, GrantTaken, GrantRefused, GrantLeave, GrantClear>;

[[nodiscard]] std::string encode(const GrantMessage& message);
/// Errors: `bad_request`, naming the type and the field that is missing or wrong.
[[nodiscard]] Result<GrantMessage> parse_grant_message(std::string_view text);

}  // namespace orchid
