// protocol/call_header.h: the fixed head of a request and of its response, the same on every lane.
// Layout and meaning of each field: docs/PROTOCOL.md §4.
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace orchid {

enum class RequestKind : std::uint8_t {
  call = 1,
  stop = 2,  // of a stream: its caller wants it to end
  more = 3,  // of a stream: a chunk of input, and leave to answer with one of output
};
enum class ResponseKind : std::uint8_t {
  reply = 1,
  need_code = 2,
  chunk = 3,      // of a stream: output so far; its reply is to come
  discarded = 4,  // of a stream that has ended: nobody took this entry
  need_data = 5,  // the worker has not mapped an object that the call names; nothing ran
};

constexpr std::uint64_t inline_payload = ~std::uint64_t{0};
constexpr std::uint8_t call_header_version = 1;
constexpr std::uint16_t flag_message = 1;  // the payload is the failure's message
constexpr std::uint16_t flag_log = 2;      // a log follows the payload
constexpr std::uint16_t flag_stream = 4;   // request: the call is a stream, this its first chunk
constexpr std::uint16_t flag_last = 8;     // request: no input follows
constexpr std::uint16_t flag_data = 16;  // request: the payload begins with a table of data objects
constexpr std::uint16_t request_flags = flag_stream | flag_last | flag_data;
constexpr std::uint16_t flag_quick = 4;  // answer: code of the tier `quick` has run

struct CallHeader {
  std::uint64_t request_id = 0;
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;
  std::uint64_t deadline_ns = 0;  // response: run time
  std::uint64_t payload_length = 0;
  std::uint64_t payload_offset = inline_payload;
  std::uint16_t entry = 0;
  std::uint16_t flags = 0;
  std::uint8_t kind = 0;
  std::uint8_t status = 0;
  std::uint8_t version = call_header_version;
  std::uint8_t held_answers = 0;  // request: 1 more than calls since the oldest one whose answer
                                  // the client has not given back; 0: it does not say
  std::uint64_t origin = 0;       // response: length of the log
  std::uint64_t sequence = 0;     // the local lane's; written last
};
static_assert(sizeof(CallHeader) == 64 && std::is_trivially_copyable_v<CallHeader>);
static_assert(offsetof(CallHeader, entry) == 40 && offsetof(CallHeader, sequence) == 56);

}  // namespace orchid
