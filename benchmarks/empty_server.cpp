#include "empty_server.h"

#include <unistd.h>

#include <utility>
// Beast after <utility>: Asio of Boost 1.74 forgets it.
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

namespace orchid::bench {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;

/// One connection. Shared with its own operations.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  explicit Connection(asio::ip::tcp::socket socket) : stream_(std::move(socket)) {}
  void read() {
    parser_.emplace();
    http::async_read(stream_, buffer_, *parser_,
                     [self = shared_from_this()](error_code error, std::size_t) {
                       if (!error) self->write();
                     });
  }

 private:
  void write() {
    response_ = {http::status::ok, 11};
    response_.set(http::field::content_type, "application/octet-stream");
    response_.body() = parser_->get().body();
    response_.keep_alive(true);
    response_.prepare_payload();
    http::async_write(stream_, response_,
                      [self = shared_from_this()](error_code error, std::size_t) {
                        if (!error) self->read();
                      });
  }

  boost::beast::tcp_stream stream_;
  boost::beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  http::response<http::string_body> response_;
};

void accept(asio::ip::tcp::acceptor& acceptor) {
  acceptor.async_accept([&acceptor](error_code error, asio::ip::tcp::socket socket) {
    if (!error) {
      socket.set_option(asio::ip::tcp::no_delay(true));
      std::make_shared<Connection>(std::move(socket))->read();
    }
    accept(acceptor);
  });
}

}  // namespace

void serve_empty(int ready_fd) {
  asio::io_context io(1);
  asio::ip::tcp::acceptor acceptor(io, {asio::ip::address_v4::loopback(), 0});
  const std::string port = std::to_string(acceptor.local_endpoint().port()) + "\n";
  [[maybe_unused]] const auto written = ::write(ready_fd, port.data(), port.size());
  ::close(ready_fd);
  accept(acceptor);
  io.run();
  std::_Exit(1);
}

}  // namespace orchid::bench
