// worker/call_log.h: what the running call prints, through stdio, iostreams, write() or the host
// API, gathered in the lane's log area.
//
// The area is shared with the client, so nothing of it is lost when the worker dies, and no system
// call is made on the way.
#pragma once
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "transport/lane_layout.h"

namespace orchid::executor {

/// One for the process, since stdout is. Any thread may append.
class CallLog {
 public:
  CallLog(transport::LogHead& head, char* text) : head_(head), text_(text) {}

  /// From now on what is printed belongs to this call.
  void begin(std::uint64_t request_id) { request_id_ = request_id; }
  void append(std::string_view text);

  [[nodiscard]] bool empty() const { return head_.length.load(std::memory_order_relaxed) == 0; }
  [[nodiscard]] std::string_view text() const;
  [[nodiscard]] std::uint64_t dropped() const;
  void clear();

  /// Sends stdout, stderr, std::cout and their kin here, unbuffered. Once, after the fork.
  void capture_standard_streams();
  /// Whether it is one of those of the C library, which live as long as the process.
  [[nodiscard]] static bool is_log_stream(const FILE* stream);
  /// Takes in what they still hold, and puts them back in their places.
  static void flush_standard_streams();

 private:
  transport::LogHead& head_;
  char* text_;
  std::uint64_t request_id_ = 0;
};

}  // namespace orchid::executor
