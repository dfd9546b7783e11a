#include "control_client.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <boost/asio/connect.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/fields.hpp>
#include <boost/beast/websocket.hpp>
#include <deque>
#include <random>
#include <utility>

#include "foundation/log.h"
#include "foundation/numbers.h"
#include "foundation/sockets.h"
#include "foundation/tcp.h"
#include "protocol/control_heartbeat.h"

namespace orchid::executor {

namespace asio = boost::asio;
namespace websocket = boost::beast::websocket;
using asio::generic::stream_protocol;
using boost::system::error_code;

namespace {

constexpr std::chrono::seconds handshake_limit{5};
constexpr std::chrono::milliseconds connection_tick{250};
constexpr unsigned acknowledge_after = 64;
constexpr std::size_t most_queued_frames = 32 * 1024;

/// 50 % to 100 % of `limit`, so that executors of a restarted gateway do not come all at once.
std::chrono::milliseconds jittered(std::chrono::milliseconds limit) {
  thread_local std::minstd_rand random{std::random_device{}()};
  return std::chrono::milliseconds(
      std::uniform_int_distribution<std::int64_t>(limit.count() / 2, limit.count())(random));
}

}  // namespace

Result<GatewayAddress> GatewayAddress::parse(std::string_view text) {
  const std::string whole(text);
  if (text.starts_with("http://")) text.remove_prefix(7);
  while (text.size() > 1 && text.ends_with('/')) text.remove_suffix(1);
  if (text.starts_with("unix:")) text.remove_prefix(5);
  if (text.starts_with('/'))
    return GatewayAddress{.socket = std::filesystem::path(text), .host = {}, .port = {}};
  const auto colon = text.rfind(':');
  std::string_view host = text.substr(0, colon);
  const std::string_view port =
      colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (host.empty() || !is_port(port))
    return fail(
        ErrorCode::bad_configuration,
        "'" + whole + "' is not a gateway's address; write host:port, [::1]:port or unix:/path");
  return GatewayAddress{.socket = {}, .host = std::string(host), .port = std::string(port)};
}

std::string GatewayAddress::to_text() const {
  if (!socket.empty()) return "unix:" + socket.string();
  return host.find(':') == std::string::npos ? host + ":" + port : "[" + host + "]:" + port;
}

/// One connection. Owned by the agent's thread; kept alive by its own asynchronous operations.
/// `owner` is null once the client no longer wants it, and every callback looks there first.
class ControlClient::Link : public std::enable_shared_from_this<Link> {
 public:
  Link(asio::io_context& io, ControlClient& owner)
      : heartbeat(std::chrono::steady_clock::now()), owner_(&owner), socket_(io), deadline_(io) {}

  void connect(std::vector<stream_protocol::endpoint> endpoints, std::string host,
               std::string token) {
    host_ = std::move(host);
    token_ = std::move(token);
    endpoints_ = std::move(endpoints);
    // Beast's own time limit begins with the handshake; this one covers the connect.
    deadline_.expires_after(handshake_limit);
    deadline_.async_wait([self = shared_from_this()](error_code error) {
      if (!error) self->failed("no answer within 5 s");
    });
    asio::async_connect(
        socket_.next_layer(), endpoints_,
        [self = shared_from_this()](error_code error, const stream_protocol::endpoint&) {
          self->connected(error);
        });
  }

  void write(std::string text) {
    if (out_.size() >= most_queued_frames) return failed("the gateway does not read");
    heartbeat.sent(std::chrono::steady_clock::now());
    out_.push_back(std::move(text));
    if (out_.size() == 1) write_next();
  }

  /// No callback of ours does anything after this.
  void drop() {
    owner_ = nullptr;
    error_code ignored;
    deadline_.cancel();
    socket_.next_layer().close(ignored);
  }

  [[nodiscard]] bool flushed() const { return out_.empty(); }

  ControlHeartbeat heartbeat;

 private:
  void connected(error_code error) {
    if (owner_ == nullptr) return;
    if (error) return failed(error.message());
    deadline_.cancel();
    // Small messages answer each other: none waits for an acknowledgement. A Unix socket has no
    // such option, and needs none.
    const int on = 1;
    ::setsockopt(socket_.next_layer().native_handle(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    socket_.set_option(
        websocket::stream_base::timeout{handshake_limit, websocket::stream_base::none(), false});
    socket_.set_option(
        websocket::stream_base::decorator([token = token_](websocket::request_type& request) {
          request.set(boost::beast::http::field::user_agent, "orchid-executor/" ORCHID_VERSION);
          if (!token.empty())
            request.set(boost::beast::http::field::authorization, "Bearer " + token);
        }));
    socket_.read_message_max(limits::control_frame.value);
    socket_.text(true);
    socket_.async_handshake(
        answer_, host_, "/v1/executors/connect",
        [self = shared_from_this()](error_code failure) { self->shaken(failure); });
  }

  void shaken(error_code error) {
    if (owner_ == nullptr) return;
    if (error == websocket::error::upgrade_declined)
      return failed("it answered HTTP status " + std::to_string(answer_.result_int()) +
                    (answer_.result_int() == 401 ? "; check the executor's token" : ""));
    if (error) return failed(error.message());
    heartbeat = ControlHeartbeat(std::chrono::steady_clock::now());
    owner_->opened();
    read_next();
  }

  void read_next() {
    if (owner_ == nullptr) return;
    socket_.async_read(in_, [self = shared_from_this()](error_code error, std::size_t) {
      if (self->owner_ == nullptr) return;
      if (error) return self->failed(error.message());
      self->heartbeat.heard(std::chrono::steady_clock::now());
      const auto data = self->in_.cdata();
      const std::string text(static_cast<const char*>(data.data()), data.size());
      self->in_.consume(data.size());
      self->owner_->arrived(text);
      self->read_next();
    });
  }

  void write_next() {
    socket_.async_write(asio::buffer(out_.front()),
                        [self = shared_from_this()](error_code error, std::size_t) {
                          if (self->owner_ == nullptr) return;
                          if (error) return self->failed(error.message());
                          self->out_.pop_front();
                          if (!self->out_.empty()) self->write_next();
                        });
  }

  void failed(const std::string& reason) {
    if (ControlClient* owner = std::exchange(owner_, nullptr)) {
      // Posted: a write that fails at once must not call back into the function that asked for it.
      asio::post(socket_.get_executor(),
                 [self = shared_from_this(), owner, reason, alive = std::weak_ptr(owner->alive_)] {
                   if (!alive.expired() && owner->link_ == self) owner->lost(reason);
                 });
    }
    error_code ignored;
    deadline_.cancel();
    socket_.next_layer().close(ignored);
  }

  ControlClient* owner_;
  websocket::stream<stream_protocol::socket> socket_;
  asio::steady_timer deadline_;
  std::vector<stream_protocol::endpoint> endpoints_;
  std::string host_;
  std::string token_;
  websocket::response_type answer_;
  boost::beast::flat_buffer in_;
  std::deque<std::string> out_;  // the front one is being written
};

ControlClient::ControlClient(asio::io_context& io, Options options, Handlers handlers)
    : io_(io),
      options_(std::move(options)),
      handlers_(std::make_shared<const Handlers>(std::move(handlers))),
      retry_timer_(io),
      tick_timer_(io),
      resolver_(io),
      retry_(options_.first_retry) {}

ControlClient::~ControlClient() { stop(); }

void ControlClient::start() {
  if (running_) return;
  running_ = true;
  retry_ = options_.first_retry;
  dial();
}

void ControlClient::stop() {
  running_ = false;
  welcomed_ = false;
  retry_timer_.cancel();
  tick_timer_.cancel();
  resolver_.cancel();
  if (link_) std::exchange(link_, nullptr)->drop();
}

bool ControlClient::flushed() const { return !welcomed_ || !link_ || link_->flushed(); }

void ControlClient::dial() {
  if (!options_.gateway.socket.empty()) {
    const auto fitted = fit_socket_path(options_.gateway.socket);
    if (!fitted) return lost(fitted.error().message);
    link_ = std::make_shared<Link>(io_, *this);
    // A Unix connect ends at once, so `fitted.directory` lives long enough.
    link_->connect({asio::local::stream_protocol::endpoint(fitted->path)}, "localhost",
                   options_.token);
    return;
  }
  const auto& [socket, host, port] = options_.gateway;
  error_code no_address;
  const auto address = asio::ip::make_address(host, no_address);
  if (!no_address)
    return dial({asio::ip::tcp::endpoint(address, parse_number<std::uint16_t>(port).value_or(0))});
  resolver_.async_resolve(
      host, port,
      [this, alive = std::weak_ptr(alive_)](error_code error,
                                            const asio::ip::tcp::resolver::results_type& found) {
        if (alive.expired() || !running_ || error == asio::error::operation_aborted) return;
        if (error)
          return lost("'" + options_.gateway.host + "' cannot be looked up: " + error.message());
        std::vector<stream_protocol::endpoint> endpoints;
        for (const auto& entry : found) endpoints.emplace_back(entry.endpoint());
        dial(std::move(endpoints));
      });
}

void ControlClient::dial(std::vector<stream_protocol::endpoint> endpoints) {
  link_ = std::make_shared<Link>(io_, *this);
  link_->connect(std::move(endpoints), options_.gateway.to_text(), options_.token);
}

void ControlClient::dial_later() {
  retry_timer_.expires_after(jittered(retry_));
  retry_ = std::min(retry_ * 2, options_.longest_retry);
  retry_timer_.async_wait([this, alive = std::weak_ptr(alive_)](error_code error) {
    if (!error && !alive.expired() && running_) dial();
  });
}

void ControlClient::opened() {
  ControlHello hello = options_.hello;
  hello.stream = stream_.id();
  hello.ack = stream_.received();
  if (handlers_->complete_hello) handlers_->complete_hello(hello);
  write({.body = std::move(hello)});
  tick();
}

void ControlClient::arrived(std::string_view text) {
  const auto keep = link_;
  auto frame = parse_control_frame(text);
  if (!frame) return take_unreadable(text, frame.error());
  if (const auto* refused = std::get_if<ControlRefused>(&frame->body))
    return lost("refused: " + refused->message);
  if (const auto* message = std::get_if<ControlWelcome>(&frame->body)) return welcome(*message);
  if (!take(frame->sequence, frame->ack)) return;
  if (const auto* message = std::get_if<ControlMessage>(&frame->body))
    std::shared_ptr(handlers_)->on_message(*message);
}

void ControlClient::take_unreadable(std::string_view text, const Failure& why) {
  auto message = unreadable_message(text, why);
  if (!message) return lost(why.message);
  if (!take(message->sequence, message->ack)) return;
  // A gateway of another release may send many of them.
  if (std::has_single_bit(++unreadable_))
    log::error("event=unreadable_message from=gateway count={} reason=\"{}\"", unreadable_,
               why.message);
  if (message->refusal) send(std::move(*message->refusal));
}

bool ControlClient::take(std::uint64_t sequence, std::uint64_t ack) {
  if (!welcomed_) {
    lost("it spoke before its welcome");
    return false;
  }
  const auto arrival = stream_.receive(sequence, ack);
  if (arrival == ReliableStream::Arrival::broken) lost("it skipped a message");
  if (arrival != ReliableStream::Arrival::fresh) return false;
  if (++unacknowledged_ >= acknowledge_after)
    write({.ack = stream_.received(), .body = ControlAck{}});
  return true;
}

void ControlClient::welcome(const ControlWelcome& message) {
  if (welcomed_) return lost("it welcomed us twice");
  const bool resumed =
      message.resumed && message.stream == stream_.id() && stream_.can_resume(message.ack);
  if (message.resumed && !resumed) {
    stream_.restart({});
    return lost("it resumed another stream than ours");
  }
  if (!resumed) stream_.restart(message.stream);
  welcomed_ = true;
  retry_ = options_.first_retry;
  last_complaint_.clear();
  log::info("event=gateway_connected gateway={} epoch={} resumed={}", options_.gateway.to_text(),
            message.epoch, resumed);
  if (resumed)
    for (const ControlFrame& frame : stream_.resume(message.ack)) write(frame);
  if (auto obeyed = std::shared_ptr(handlers_)->on_welcome(message); !obeyed)
    lost(obeyed.error().message);
}

void ControlClient::send(ControlMessage message) {
  auto frame = stream_.add(std::move(message));
  if (!frame) {
    log::warn("event=control_stream_dropped reason=\"{}\"", frame.error().message);
    stream_.restart({});
    if (link_) {
      const auto alive = std::weak_ptr(alive_);
      asio::post(io_, [this, alive, link = link_] {
        if (!alive.expired() && link_ == link) lost("too many messages wait");
      });
    }
    return;
  }
  if (welcomed_) write(*frame);
}

void ControlClient::write(const ControlFrame& frame) {
  unacknowledged_ = 0;
  if (link_) link_->write(encode(frame));
}

void ControlClient::lost(const std::string& reason) {
  if (link_) std::exchange(link_, nullptr)->drop();
  tick_timer_.cancel();
  const bool was_welcomed = std::exchange(welcomed_, false);
  if (last_complaint_ != reason) {
    log::warn("event=gateway_unreachable gateway={} reason=\"{}\"", options_.gateway.to_text(),
              reason);
    last_complaint_ = reason;
  }
  if (running_) dial_later();
  if (was_welcomed) std::shared_ptr(handlers_)->on_lost();
}

void ControlClient::tick() {
  tick_timer_.expires_after(connection_tick);
  tick_timer_.async_wait([this, alive = std::weak_ptr(alive_)](error_code error) {
    if (error || alive.expired() || !link_) return;
    const auto now = std::chrono::steady_clock::now();
    if (link_->heartbeat.lost(now)) return lost("silent for 5 s");
    if (welcomed_ && link_->heartbeat.ping_due(now))
      write({.ack = stream_.received(), .body = ControlPing{}});
    tick();
  });
}

}  // namespace orchid::executor
