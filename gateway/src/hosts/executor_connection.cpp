#include "hosts/executor_connection.h"

#include <boost/asio/post.hpp>
#include <utility>

#include "foundation/log.h"
#include "protocol/limits.h"

namespace orchid::gateway {

namespace websocket = boost::beast::websocket;
using boost::system::error_code;

namespace {

constexpr std::chrono::seconds handshake_limit{5};
constexpr std::size_t most_queued_frames = 32 * 1024;

}  // namespace

void ExecutorConnection::start(UpgradeRequest request, Handlers handlers) {
  request_ = std::move(request);
  handlers_ = std::move(handlers);
  socket_.set_option(
      websocket::stream_base::timeout{handshake_limit, websocket::stream_base::none(), false});
  socket_.set_option(websocket::stream_base::decorator([](websocket::response_type& response) {
    response.set(boost::beast::http::field::server, "orchid-gateway/" ORCHID_VERSION);
  }));
  socket_.read_message_max(limits::control_frame.value);
  socket_.text(true);
  socket_.async_accept(request_, [self = shared_from_this()](error_code error) {
    if (self->dropped_) return;
    if (error) return self->failed(error.message());
    self->accepted_ = true;
    self->heartbeat_ = ControlHeartbeat(std::chrono::steady_clock::now());
    self->read_next();
    if (!self->out_.empty()) self->write_next();
  });
}

void ExecutorConnection::write(const ControlFrame& frame) {
  if (dropped_ || finishing_) return;
  if (out_.size() >= most_queued_frames) return failed("it does not read");
  heartbeat_.sent(std::chrono::steady_clock::now());
  out_.push_back(encode(frame));
  if (out_.size() == 1 && accepted_) write_next();
}

void ExecutorConnection::finish() {
  if (dropped_) return;
  finishing_ = true;
  if (out_.empty()) drop();
}

void ExecutorConnection::drop() {
  dropped_ = true;
  close_socket();
  // Posted: we may be inside one of them.
  boost::asio::post(io_, [self = shared_from_this()] { self->handlers_ = {}; });
}

void ExecutorConnection::read_next() {
  if (dropped_) return;
  socket_.async_read(in_, [self = shared_from_this()](error_code error, std::size_t) {
    if (self->dropped_) return;
    if (error) return self->failed(error.message());
    self->heartbeat_.heard(std::chrono::steady_clock::now());
    const auto data = self->in_.cdata();
    const std::string text(static_cast<const char*>(data.data()), data.size());
    self->in_.consume(data.size());
    if (!self->finishing_) self->handlers_.on_text(text);
    self->read_next();
  });
}

void ExecutorConnection::write_next() {
  socket_.async_write(boost::asio::buffer(out_.front()),
                      [self = shared_from_this()](error_code error, std::size_t) {
                        if (self->dropped_) return;
                        if (error) return self->failed(error.message());
                        self->out_.pop_front();
                        if (!self->out_.empty()) return self->write_next();
                        if (self->finishing_) self->drop();
                      });
}

void ExecutorConnection::failed(std::string reason) {
  if (std::exchange(dropped_, true)) return;
  close_socket();
  boost::asio::post(io_, [self = shared_from_this(), reason = std::move(reason)] {
    const Handlers handlers = std::exchange(self->handlers_, {});
    if (handlers.on_lost) handlers.on_lost(reason);
  });
}

void ExecutorConnection::close_socket() {
  error_code ignored;
  socket_.next_layer().close(ignored);
}

}  // namespace orchid::gateway
