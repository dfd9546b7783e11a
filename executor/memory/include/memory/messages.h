// memory/messages.h: what the agent and a memory process tell each other over a packet socket, as
// JSON.
#pragma once
#include <string>
#include <string_view>
#include <variant>

#include "foundation/error_code.h"
#include "foundation/result.h"
#include "foundation/units.h"
#include "protocol/control_messages.h"

namespace orchid::executor {

/// From the agent, once. Descriptor: the memory file, whose size cannot change. Answered by
/// `MemoryListening`, then by one of the others.
struct MemoryServe {
  std::string key;      // 32 hexadecimal digits
  std::string address;  // an IP address of this host, to listen at
  ByteCount bytes;
  WaitMode wait = WaitMode::adaptive;  // for the client's next request
};

/// From the agent, once, to a process of the other end: it reaches the memory that is served there
/// for a worker. Descriptor: its end of the memory socket (protocol/memory_access.h). Answered by
/// `MemoryConnected`, then by one of the others.
struct MemoryReach {
  std::string key;      // as of `MemoryServe`
  std::string address;  // "host:port", where that listens
  ByteCount bytes;
  WaitMode wait = WaitMode::adaptive;  // for an answer
  std::string host;                    // for messages
};

/// From the agent: the answer to `MemoryLost`.
struct MemoryFate {
  bool ended = false;  // the lease has; else its memory is there, and can be opened again
};

// From the memory process.

struct MemoryListening {
  std::string address;  // "host:port"
};
struct MemoryConnected {};
/// Of one that reaches: its connection has ended, and the worker asks for something. Answered by
/// `MemoryFate`.
struct MemoryLost {};
/// A client had come, and has gone: another one may come, to another process. Of the other end: the
/// worker has.
struct MemoryLeft {};
struct MemoryFailed {
  ErrorCode code = ErrorCode::internal;
  std::string message;
};

using MemoryMessage = std::variant<MemoryServe, MemoryReach, MemoryFate, MemoryListening,
                                   MemoryConnected, MemoryLost, MemoryLeft, MemoryFailed>;

[[nodiscard]] std::string encode(const MemoryMessage& message);
/// Errors: `bad_request`, naming the field that is missing or wrong.
[[nodiscard]] Result<MemoryMessage> parse_memory_message(std::string_view text);

}  // namespace orchid::executor
