// protocol/flow_messages.h: what a gateway and the process that runs a tenant's flows tell each
// other over a packet socket, as JSON (docs/PROTOCOL.md §12). Contents travel as sealed memory
// files.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "foundation/result.h"
#include "foundation/units.h"

namespace orchid {

/// Of what somebody submits: the document, its files and the inputs.
constexpr ByteCount largest_flow_submission = 64_MiB;
/// Of an answer's content: the outputs of a flow.
constexpr ByteCount largest_flow_answer = 256_MiB;
/// How long an answer may wait for news.
constexpr std::chrono::seconds longest_flow_wait{60};

enum class FlowAsk : std::uint8_t {
  submit,
  list,
  show,
  outputs,
  log,
  news,
  cancel,
  retry,
  resume,
  remove,
  check,     // a document, without a flow coming of it
  templates  // what flows may begin from
};

// From the gateway.

/// Descriptor: what is submitted or checked.
struct FlowRequest {
  std::uint64_t number = 0;  // of this connection
  FlowAsk ask = FlowAsk::list;
  std::string flow;                  // its id
  std::string key;                   // of `submit`: the same key is the same flow; may be empty
  std::uint64_t since = 0;           // of `news`: what is known already
  std::chrono::milliseconds wait{};  // of `show`: for the end; of `news`: for some
  bool brief = false;                // of `submit` and `show`: without the nodes
};
/// The answer to a `FlowDial`. Descriptor: a stream socket, at whose other end the gateway takes
/// HTTP requests for this tenant.
struct FlowConnection {};

// From the process.

enum class FlowContent : std::uint8_t { nothing, json, text, events };

/// Descriptor: the content, if there is one.
struct FlowAnswer {
  std::uint64_t number = 0;
  std::optional<Failure> failure;  // why it was not done
  bool is_new = false;             // `submit` has made a flow
  FlowContent content = FlowContent::nothing;
  std::uint64_t next = 0;  // of `news`: `since` of the next request
  bool last = false;       // of `news`: no more will come
};
/// It wants a connection.
struct FlowDial {};

using FlowMessage = std::variant<FlowRequest, FlowConnection, FlowAnswer, FlowDial>;

[[nodiscard]] std::string encode(const FlowMessage& message);
/// Errors: `bad_request`, naming the field that is missing or wrong.
[[nodiscard]] Result<FlowMessage> parse_flow_message(std::string_view text);

}  // namespace orchid
