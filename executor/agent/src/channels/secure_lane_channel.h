// channels/secure_lane_channel.h: the conversation with a client of another host, on the agent's
// event loop.
#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <memory>

#include "channels/lane_channel.h"
#include "transport/secure_channel.h"

namespace orchid::executor {

class SecureLaneChannel final : public LaneChannel {
 public:
  SecureLaneChannel(boost::asio::io_context& io, transport::SecureChannel channel,
                    Handlers handlers);
  ~SecureLaneChannel() override;

  [[nodiscard]] Result<void> send(std::string_view text,
                                  const std::vector<int>& descriptors) override;

 private:
  void wait_readable();
  void wait_writable();
  void drain();

  transport::SecureChannel channel_;
  boost::asio::posix::stream_descriptor socket_;  // the channel's, not owned
  std::shared_ptr<Handlers> handlers_;  // shared with a running drain, which may destroy us
  bool waits_to_write_ = false;
};

}  // namespace orchid::executor
