// worker/call_stream.h: the running call as a stream: each entry of the lane brings a chunk of its
// input and takes one of its output (docs/PROTOCOL.md §4).
#pragma once
#include <cstdint>
#include <span>

#include "lane_wait.h"
#include "protocol/call_header.h"
#include "user_code/call_context.h"

namespace orchid::executor {

/// Made anew for each call that is a stream, on the worker's thread. Between two exchanges an entry
/// of the lane is always taken: the one that the function's reply would answer.
class CallStream {
 public:
  CallStream(const LaneWait& wait, StatusPage& page, const CallHeader& first)
      : wait_(wait), page_(page), input_ended_((first.flags & flag_last) != 0) {}

  enum class Next : std::uint8_t { chunk, end, stop };
  /// Sends what `call` has written, and waits for the next entry; after `end` that is leave to
  /// write more. Sends nothing when it has only to say that the input is over. A caller that speaks
  /// nonsense, or is gone, ends the process.
  [[nodiscard]] Next exchange(orchid_call& call, std::span<const std::byte>& input);

 private:
  void send_chunk(orchid_call& call);
  [[nodiscard]] transport::LaneRequest take_entry();

  LaneWait wait_;
  StatusPage& page_;
  bool input_ended_;
  bool end_told_ = false;
  bool stopped_ = false;
};

}  // namespace orchid::executor
