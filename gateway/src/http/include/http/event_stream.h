// http/event_stream.h: answers that go on: server-sent events, told while they happen (HTML Living
// Standard §9.2).
//
// A connection asks its source for what is new once all that it was told before is with the kernel.
// So nothing queues up for a slow reader: it hears of the newest state.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "http/response.h"

namespace orchid::gateway {

struct ServerEvent {
  std::string_view name;  // one line
  std::string_view data;  // lines; one end of line at its end says nothing
  std::string_view id{};  // one line; empty: the reader keeps the last one as its Last-Event-ID
};
void append_event(std::string& out, const ServerEvent& event);
/// One line, which readers skip.
void append_comment(std::string& out, std::string_view text);

/// Whole events and comments.
struct EventBatch {
  std::string text;
  bool last = false;  // the stream ends behind them
};

/// What one stream tells. Belongs to the HTTP thread of its connection, and ends with it.
class EventSource {
 public:
  virtual ~EventSource() = default;
  /// Once, before the first `take`. `wake` says that there may be something to take. It is called
  /// on this thread, but neither in `open` nor in `take`; also after the connection's end, when
  /// nothing happens.
  virtual void open(std::function<void()> wake) = 0;
  /// What is new since the last time; nothing (an empty text): nothing.
  [[nodiscard]] virtual EventBatch take() = 0;
};

/// 200, until the source's last batch; the connection ends with it.
[[nodiscard]] Response event_stream_response(std::shared_ptr<EventSource> source);

}  // namespace orchid::gateway
