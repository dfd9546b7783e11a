// control_client.h: the executor's side of the control connection: it dials the gateway, keeps
// dialling, and loses no message while both processes live (docs/PROTOCOL.md §2).
#pragma once
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/clock.h"
#include "foundation/result.h"
#include "protocol/control_messages.h"
#include "protocol/reliable_stream.h"

namespace orchid::executor {

/// Where the gateway listens: a Unix socket, or host and port.
struct GatewayAddress {
  std::filesystem::path socket;  // when not empty, the other two are not used
  std::string host;
  std::string port;
  /// "unix:/path", "/path", "host:port", "[::1]:port", each also after "http://". Errors:
  /// `bad_configuration`.
  [[nodiscard]] static Result<GatewayAddress> parse(std::string_view text);
  [[nodiscard]] std::string to_text() const;
};

/// Owned by the agent's thread, as the io_context is; its handlers run there, never inside `send`,
/// `start` or `stop`. (A gateway given by a host's name is looked up by Asio's resolver thread,
/// which shares nothing with us; with an address there is no such thread.) May be destroyed at any
/// time, also in a handler.
class ControlClient {
 public:
  struct Options {
    GatewayAddress gateway;
    std::string token;   // empty over the Unix socket, where the peer's credentials count
    ControlHello hello;  // `stream` and `ack` are filled in here
    std::chrono::milliseconds first_retry{50};
    std::chrono::milliseconds longest_retry{2000};
  };
  struct Handlers {
    /// After each (re)connection. Not `resumed`: the stream begins afresh, what was sent before is
    /// forgotten; drop the leases of epochs before this one and report the capacity again. A
    /// failure: this gateway is not to be obeyed; it is hung up on, and dialled again.
    std::function<Result<void>(const ControlWelcome& welcome)> on_welcome;
    std::function<void(const ControlMessage&)> on_message;
    /// The connection broke; it is being dialled again. Not called for attempts that never came to
    /// a welcome.
    std::function<void()> on_lost;
    /// Writes into a hello what is not as in the options any more. May be empty.
    std::function<void(ControlHello&)> complete_hello;
  };
  ControlClient(boost::asio::io_context& io, Options options, Handlers handlers);
  ~ControlClient();
  ControlClient(const ControlClient&) = delete;
  ControlClient& operator=(const ControlClient&) = delete;

  void start();
  /// Kept and sent again until the gateway has it, or until the stream begins afresh.
  void send(ControlMessage message);
  /// Closes the connection; no handler is called any more. `start` dials again.
  void stop();
  [[nodiscard]] bool connected() const { return welcomed_; }
  /// What was sent has left this process, or cannot leave it now.
  [[nodiscard]] bool flushed() const;
  /// Messages of the gateway that could not be read.
  [[nodiscard]] std::uint64_t unreadable() const { return unreadable_; }

 private:
  class Link;
  void dial();
  void dial(std::vector<boost::asio::generic::stream_protocol::endpoint> endpoints);
  void dial_later();
  void opened();
  void arrived(std::string_view text);
  void take_unreadable(std::string_view text, const Failure& why);
  /// False: it is not to be handled.
  [[nodiscard]] bool take(std::uint64_t sequence, std::uint64_t ack);
  void welcome(const ControlWelcome& message);
  void lost(const std::string& reason);
  void write(const ControlFrame& frame);
  void tick();

  boost::asio::io_context& io_;
  Options options_;
  std::shared_ptr<const Handlers>
      handlers_;  // shared with the call in progress: a handler may destroy us
  ReliableStream stream_;
  boost::asio::steady_timer retry_timer_;
  boost::asio::steady_timer tick_timer_;
  boost::asio::ip::tcp::resolver resolver_;
  std::shared_ptr<Link> link_;  // shared with its own asynchronous operations, which may outlive us
  std::shared_ptr<char> alive_ =
      std::make_shared<char>();  // its weak pointers tell callbacks whether we are still here
  std::chrono::milliseconds retry_;
  unsigned unacknowledged_ = 0;  // numbered frames received since we last sent anything
  std::uint64_t unreadable_ = 0;
  bool running_ = false;
  bool welcomed_ = false;
  std::string last_complaint_;  // the same reason is logged once, not at each attempt
};

}  // namespace orchid::executor
