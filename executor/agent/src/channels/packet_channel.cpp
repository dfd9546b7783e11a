#include "channels/packet_channel.h"

#include <fcntl.h>

#include <utility>

namespace orchid::executor {

PacketChannel::PacketChannel(boost::asio::io_context& io, UniqueFd socket, Handlers handlers)
    : socket_(io, socket.release()), handlers_(std::make_shared<Handlers>(std::move(handlers))) {
  wait();
}

PacketChannel::~PacketChannel() = default;

void PacketChannel::wait() {
  socket_.async_wait(
      boost::asio::posix::stream_descriptor::wait_read,
      [this, alive = std::weak_ptr<Handlers>(handlers_)](const boost::system::error_code& error) {
        if (!error && !alive.expired()) drain();
      });
}

void PacketChannel::drain() {
  const std::weak_ptr<Handlers> alive = handlers_;
  // Not until nothing is left: the other side may send for ever, and others wait.
  for (int taken = 0; taken < packets_per_turn; ++taken) {
    const std::shared_ptr<Handlers> handlers = alive.lock();
    if (handlers == nullptr) return;
    auto packet = receive_packet(socket_.native_handle(), false);
    if (!packet) return handlers->on_closed();
    if (!*packet) return wait();
    handlers->on_packet(**packet);
  }
  if (!alive.expired()) wait();
}

void PacketChannel::read_rest() {
  const std::weak_ptr<Handlers> alive = handlers_;
  while (const std::shared_ptr<Handlers> handlers = alive.lock()) {
    auto packet = receive_packet(socket_.native_handle(), false);
    if (!packet || !*packet) return;
    handlers->on_packet(**packet);
  }
}

void PacketChannel::when_writable(Task writable) {
  socket_.async_wait(boost::asio::posix::stream_descriptor::wait_write,
                     [alive = std::weak_ptr<Handlers>(handlers_), writable = std::move(writable)](
                         const boost::system::error_code& error) mutable {
                       if (!error && !alive.expired()) writable();
                     });
}

Result<void> PacketChannel::send(std::string_view text, const std::vector<int>& descriptors) {
  return send_packet(socket_.native_handle(), text, descriptors);
}

}  // namespace orchid::executor
