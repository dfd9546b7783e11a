// channels/packet_channel.h: a packet socket on the agent's event loop.
#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <memory>
#include <string_view>
#include <vector>

#include "channels/lane_channel.h"
#include "foundation/result.h"
#include "foundation/task.h"
#include "foundation/unique_fd.h"

namespace orchid::executor {

/// Owned by the agent's thread. May be destroyed in its own handlers.
class PacketChannel final : public LaneChannel {
 public:
  PacketChannel(boost::asio::io_context& io, UniqueFd socket, Handlers handlers);
  ~PacketChannel() override;

  [[nodiscard]] Result<void> send(std::string_view text,
                                  const std::vector<int>& descriptors) override;
  /// `writable`: once, when there is room for more again, unless the channel is destroyed before.
  /// Not before it has been called.
  void when_writable(Task writable);
  /// Takes all that has come and was not looked at: from a process that has ended, and so says
  /// nothing more.
  void read_rest();
  [[nodiscard]] int descriptor() { return socket_.native_handle(); }

 private:
  void wait();
  void drain();

  boost::asio::posix::stream_descriptor socket_;
  std::shared_ptr<Handlers> handlers_;  // shared with a running drain, which may destroy us
};

}  // namespace orchid::executor
