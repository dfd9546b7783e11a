// server/listener.h: accepts connections and hands them to the HTTP threads in turn.
#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>

#include "server/http_thread.h"
#include "server/listening_socket.h"

namespace orchid::gateway {

/// Belongs to the thread of its io_context.
class Listener {
 public:
  using Take = std::function<void(AcceptedConnection)>;
  Listener(boost::asio::io_context& io, ListeningSocket socket, Take take);
  void start();
  void stop();

 private:
  void wait();
  void accept_all();
  int family_;
  bool trusts_uid_;
  boost::asio::posix::stream_descriptor socket_;
  boost::asio::steady_timer pause_;
  Take take_;
};

}  // namespace orchid::gateway
