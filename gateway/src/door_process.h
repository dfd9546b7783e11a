// door_process.h: orchid-door, which the gateway keeps beside it for clients over UCX.
#pragma once
#include <boost/asio/io_context.hpp>
#include <optional>
#include <string>

#include "companions/kept_process.h"
#include "config/config.h"
#include "foundation/tcp.h"

namespace orchid::gateway {

/// Owned by the control thread, whose io_context it is given.
class DoorProcess {
 public:
  /// Without `listener` there is no door, and nothing is started.
  DoorProcess(boost::asio::io_context& control, const Config& config,
              std::optional<TcpListener> listener);
  void start();
  void stop() { process_.stop(); }
  /// For clients; "" when there is no door. Constant.
  [[nodiscard]] const std::string& url() const { return url_; }

 private:
  KeptProcess process_;
  std::optional<TcpListener> listener_;  // until the process has it
  std::string url_;
};

}  // namespace orchid::gateway
