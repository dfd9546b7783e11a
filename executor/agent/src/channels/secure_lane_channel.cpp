#include "channels/secure_lane_channel.h"

#include <boost/asio/post.hpp>
#include <utility>

namespace orchid::executor {
namespace {
using boost::asio::posix::stream_descriptor;
}  // namespace

SecureLaneChannel::SecureLaneChannel(boost::asio::io_context& io, transport::SecureChannel channel,
                                     Handlers handlers)
    : channel_(std::move(channel)),
      socket_(io, channel_.descriptor()),
      handlers_(std::make_shared<Handlers>(std::move(handlers))) {
  wait_readable();
}

SecureLaneChannel::~SecureLaneChannel() { socket_.release(); }

void SecureLaneChannel::wait_readable() {
  socket_.async_wait(
      stream_descriptor::wait_read,
      [this, alive = std::weak_ptr<Handlers>(handlers_)](const boost::system::error_code& error) {
        if (error || alive.expired()) return;
        drain();
        if (!alive.expired()) wait_readable();
      });
  wait_writable();
}

void SecureLaneChannel::wait_writable() {
  if (waits_to_write_ || !channel_.wants_to_write()) return;
  waits_to_write_ = true;
  socket_.async_wait(
      stream_descriptor::wait_write,
      [this, alive = std::weak_ptr<Handlers>(handlers_)](const boost::system::error_code& error) {
        if (error || alive.expired()) return;
        waits_to_write_ = false;
        drain();
        if (!alive.expired()) wait_writable();
      });
}

void SecureLaneChannel::drain() {
  const std::weak_ptr<Handlers> alive = handlers_;
  // TLS may hold packets that the socket no longer shows, so until nothing is left; but others wait
  // too.
  for (int taken = 0; taken < packets_per_turn; ++taken) {
    const std::shared_ptr<Handlers> handlers = alive.lock();
    if (handlers == nullptr) return;
    auto packet = channel_.receive();
    if (!packet) return handlers->on_closed();
    if (!*packet) return;
    handlers->on_packet(**packet);
  }
  if (!alive.expired())
    boost::asio::post(socket_.get_executor(), [this, alive] {
      if (!alive.expired()) drain();
    });
}

Result<void> SecureLaneChannel::send(std::string_view text, const std::vector<int>& descriptors) {
  auto sent = channel_.send(text, descriptors);
  wait_writable();
  return sent;
}

}  // namespace orchid::executor
