// copy/messages.h: what the agent and a copy process tell each other over a packet socket, as JSON.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "foundation/error_code.h"
#include "foundation/result.h"
#include "foundation/units.h"

namespace orchid::executor {

// From the agent: one of the first two, once.

/// Descriptor: a sealed object. Answered by `CopyListening`, then `CopyDone` or `CopyFailed`.
struct CopySend {
  std::string key;      // 32 hexadecimal digits
  std::string address;  // an IP address of this host, to listen at
  ByteCount bytes;      // of the object
  std::chrono::milliseconds within{0};
};

/// Descriptor: the room, whose size cannot change. Answered by `CopyDone` or `CopyFailed`.
struct CopyFetch {
  std::string key;
  std::string address;  // of the sender: "host:port"
  ByteCount bytes;
  ByteCount have;  // that lie in the room already, from its start
  std::chrono::milliseconds within{0};
};

/// It is to end now, and to say how far it has come.
struct CopyStop {};

// From the copy process.

struct CopyListening {
  std::string address;  // "host:port"
};
/// All that was asked for has been sent; or the room is full.
struct CopyDone {};
struct CopyFailed {
  ErrorCode code = ErrorCode::internal;
  std::string message;
  ByteCount have;  // of a fetch: that lie in the room now
};

using CopyMessage =
    std::variant<CopySend, CopyFetch, CopyStop, CopyListening, CopyDone, CopyFailed>;

[[nodiscard]] std::string encode(const CopyMessage& message);
/// Errors: `bad_request`, naming the field that is missing or wrong.
[[nodiscard]] Result<CopyMessage> parse_copy_message(std::string_view text);

}  // namespace orchid::executor
