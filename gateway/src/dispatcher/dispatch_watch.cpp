#include "dispatcher/dispatch_watch.h"

#include <boost/asio/posix/stream_descriptor.hpp>

namespace orchid::gateway {

struct ReadableWatch::State {
  explicit State(boost::asio::io_context& io) : descriptor(io) {}
  boost::asio::posix::stream_descriptor descriptor;
  std::function<void()> on_readable;
  bool armed = false;
  bool gone = false;
};

Result<std::unique_ptr<ReadableWatch>> ReadableWatch::create(boost::asio::io_context& io,
                                                             int descriptor,
                                                             std::function<void()> on_readable) {
  auto state = std::make_shared<State>(io);
  boost::system::error_code error;
  state->descriptor.assign(descriptor, error);
  if (error) return fail(ErrorCode::system, "watching a descriptor: " + error.message());
  state->on_readable = std::move(on_readable);
  return std::unique_ptr<ReadableWatch>(new ReadableWatch(std::move(state)));
}

ReadableWatch::~ReadableWatch() {
  state_->gone = true;
  state_->descriptor.release();  // not ours to close
}

void ReadableWatch::arm() {
  if (state_->armed) return;
  state_->armed = true;
  state_->descriptor.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                                [state = state_](boost::system::error_code error) {
                                  state->armed = false;
                                  if (error || state->gone) return;
                                  state->on_readable();
                                });
}

}  // namespace orchid::gateway
