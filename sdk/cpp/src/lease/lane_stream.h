// lease/lane_stream.h: a streaming call, as its owner and its worker's lane share it.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "lease/direct_call.h"
#include "lease/lane_end.h"
#include "protocol/call_header.h"

namespace orchid::sdk {

/// Who drives the lane has it, its owner or another; after the call is done its owner alone. `call`
/// stands for the whole of it: it waits for a lane like others, and is done when the stream is.
struct LaneStream : std::enable_shared_from_this<LaneStream> {
  DirectCall call;
  std::shared_ptr<LeaseCode> code;  // shared with the lease
  std::shared_ptr<LaneEnd> end;     // shared with what is lent from it; set when it has a lane

  /// Kept until the worker's first answer where the worker may have dropped the function's code:
  /// then this chunk is sent again, and nothing is sent behind it before.
  struct FirstEntry {
    std::vector<std::byte> chunk;
    bool last = false;
    bool waits_for_code = false;
  };
  std::optional<FirstEntry> first_entry;
  std::uint64_t first_request = 0;  // in the lane; 0: nothing was sent yet
  unsigned in_flight = 0;           // entries without an answer
  unsigned credit = 1;              // entries that wait for output once the input has ended
  bool input_ended = false;
  bool cancel_told = false;
  bool abandoned = false;                      // its owner has gone: nobody wants the answers
  std::uint64_t news = 0;                      // counts answers
  std::deque<transport::LaneResponse> unread;  // not empty, not released

  std::mutex opening;
  std::condition_variable opened;  // `call.lane` was set

  /// Keeps an answer's output for its owner. False: there is none, or nobody wants it.
  [[nodiscard]] bool keep(const transport::LaneResponse& response) {
    if (abandoned || response.payload.empty()) return false;
    unread.push_back(response);
    return true;
  }
};

/// What goes into the lane for a stream.
struct StreamEntry {
  std::span<const std::byte> chunk;
  RequestKind kind = RequestKind::more;
  bool last = false;
  LaneRoom* home = nullptr;  // `chunk` lies in it
};

}  // namespace orchid::sdk
