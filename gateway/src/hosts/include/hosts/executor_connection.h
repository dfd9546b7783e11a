// hosts/executor_connection.h: one WebSocket that an executor has opened: frames in and out, no
// meaning.
#pragma once
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/websocket.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "protocol/control_heartbeat.h"
#include "protocol/control_messages.h"

namespace orchid::gateway {

using UpgradeRequest = boost::beast::http::request<boost::beast::http::string_body>;

/// Owned by the control thread; kept alive by its own asynchronous operations, and silent after
/// `drop`.
class ExecutorConnection : public std::enable_shared_from_this<ExecutorConnection> {
 public:
  struct Handlers {
    std::function<void(std::string_view)> on_text;
    std::function<void(std::string)> on_lost;  // with the reason; the last one that is called
  };
  ExecutorConnection(boost::asio::io_context& io,
                     boost::asio::generic::stream_protocol::socket socket)
      : io_(io), heartbeat_(std::chrono::steady_clock::now()), socket_(std::move(socket)) {}

  /// Answers the upgrade and begins to read.
  void start(UpgradeRequest request, Handlers handlers);
  void write(const ControlFrame& frame);
  /// Closes after what was written; the other side has been told why.
  void finish();
  void drop();

  [[nodiscard]] ControlHeartbeat& heartbeat() { return heartbeat_; }

 private:
  void read_next();
  void write_next();
  void failed(std::string reason);
  void close_socket();

  boost::asio::io_context& io_;
  ControlHeartbeat heartbeat_;
  boost::beast::websocket::stream<boost::asio::generic::stream_protocol::socket> socket_;
  UpgradeRequest request_;
  Handlers handlers_;
  boost::beast::flat_buffer in_;
  std::deque<std::string> out_;  // the front one is being written
  bool accepted_ = false;
  bool finishing_ = false;
  bool dropped_ = false;
};

}  // namespace orchid::gateway
