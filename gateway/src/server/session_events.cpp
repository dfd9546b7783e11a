// session_events.cpp: answers that go on. A piece is sent like an answer, and only once it is with
// the kernel is the source asked for the next one.
#include <boost/asio/socket_base.hpp>
#include <utility>

#include "foundation/tcp.h"
#include "http/event_stream.h"
#include "server/session.h"

namespace orchid::gateway {
namespace {
// Of the kernel, per stream: what lies there is no longer the newest when a slow reader gets it.
constexpr int kernel_buffer = 16 * 1024;
}  // namespace

void Session::continue_stream() {
  if (peer_closed_) return close();
  if (!std::exchange(streams_, true)) open_stream();
  state_ = State::streaming;
  set_time(host_.limits.event_pause);
  read_more();  // so a client that goes away is noticed
  send_events();
}

void Session::open_stream() {
  host_.metrics.streams_opened.add();
  boost::system::error_code ignored;
  socket_.set_option(boost::asio::socket_base::send_buffer_size(kernel_buffer), ignored);
  end_when_silent(socket_.native_handle());  // comments would fit into that buffer for long
  response_.events->open([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->send_events();
  });
}

void Session::send_events() {
  if (state_ != State::streaming) return;  // what is new is asked for after this piece
  EventBatch batch;
  if (may_go_on()) {
    batch = response_.events->take();
  } else {
    append_comment(batch.text, "your session at the page is over");
    batch.last = true;
  }
  if (host_.draining && !batch.last) {
    append_comment(batch.text, "the gateway is stopping");
    batch.last = true;
  }
  if (!batch.text.empty() || batch.last) send_piece(batch.text, batch.last);
}

bool Session::may_go_on() const {
  if (!is_by_cookie_) return true;
  const auto judged = host_.by_cookie(request_);
  return judged && judged->has_value();
}

void Session::keep_stream_alive() {
  std::string comment;
  append_comment(comment, "still here");
  send_piece(comment, /*last=*/false);
}

void Session::send_piece(std::string_view text, bool last) {
  head_.clear();
  if (request_.minor_version == 0) {
    head_ = text;
  } else {
    if (!text.empty()) append_chunk(head_, text);
    if (last) append_chunk(head_, {});
  }
  last_piece_ = last;
  state_ = State::answering;
  written_ = 0;
  set_time(host_.limits.write_time);
  write_some();
}

void Session::end_stream() {
  if (std::exchange(streams_, false)) host_.metrics.streams_closed.add();
}

}  // namespace orchid::gateway
