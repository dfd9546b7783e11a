// protocol/copy_messages.h: what a copy process and who has started it (an agent, or the gateway)
// tell each other over a packet socket, as JSON.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "foundation/error_code.h"
#include "foundation/result.h"
#include "foundation/units.h"

namespace orchid {

/// So long the other end of a transfer may not get on.
constexpr std::chrono::milliseconds peer_patience{5000};

// From who has started it: one of the orders, once.

/// Descriptor: a sealed object. Answered by `CopyListening`, then `CopyDone` or `CopyFailed`.
struct CopySend {
  std::string key;      // 32 hexadecimal digits
  std::string address;  // an IP address of this host, to listen at
  ByteCount bytes;      // of the object
  std::chrono::milliseconds within{0};
  std::chrono::milliseconds patience = peer_patience;  // with the other end
};

/// Descriptor: the room, whose size cannot change. Answered by `CopyDone` or `CopyFailed`.
struct CopyFetch {
  std::string key;
  std::string address;  // of the sender: "host:port"
  ByteCount bytes;
  ByteCount have;  // that lie in the room already, from its start
  std::chrono::milliseconds within{0};
};

/// The other way round. Descriptor: the room, which is empty. Answered by `CopyListening`, then
/// `CopyDone` or `CopyFailed`.
struct CopyTake {
  std::string key;
  std::string address;  // an IP address of this host, to listen at
  ByteCount bytes;
  std::chrono::milliseconds within{0};
  std::chrono::milliseconds patience = peer_patience;
};

/// To one that takes. Descriptor: the end of a pipe, out of which the object comes. Answered by
/// `CopyMet`, then `CopyDone` or `CopyFailed`.
struct CopyPush {
  std::string key;
  std::string address;  // of the other end: "host:port"
  ByteCount bytes;
  std::chrono::milliseconds within{0};
};

/// From one that sends, a part of the object. Descriptor: the end of a pipe, into which it goes.
/// Answered likewise.
struct CopyPull {
  std::string key;
  std::string address;
  ByteCount bytes;          // of the object
  std::uint64_t begin = 0;  // of the part
  std::uint64_t length = 0;
  std::chrono::milliseconds within{0};
};

/// It is to end now, and to say how far it has come.
struct CopyStop {};

// From the copy process.

struct CopyListening {
  std::string address;  // "host:port"
};
/// The other end is there, and has the right key.
struct CopyMet {};
/// All that was asked for has been sent; or the room is full, or the pipe has taken all.
struct CopyDone {};
struct CopyFailed {
  ErrorCode code = ErrorCode::internal;
  std::string message;
  ByteCount have;  // of a fetch: that lie in the room now
};

using CopyMessage = std::variant<CopySend, CopyFetch, CopyTake, CopyPush, CopyPull, CopyStop,
                                 CopyListening, CopyMet, CopyDone, CopyFailed>;

[[nodiscard]] std::string encode(const CopyMessage& message);
/// Errors: `bad_request`, naming the field that is missing or wrong.
[[nodiscard]] Result<CopyMessage> parse_copy_message(std::string_view text);

}  // namespace orchid
