// A client at doors that do not let it in. Each is a plain TCP server that says a fixed thing; what
// comes after the welcome is in tests/integration/door.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <string>
#include <thread>

#include "foundation/unique_fd.h"
#include "orchid/client.h"
#include "protocol/door_messages.h"

namespace orchid {
namespace {

using std::chrono::milliseconds;

/// Takes one connection, hears what comes, says `text`, and hangs up if it is told to.
class FakeDoor {
 public:
  FakeDoor(std::string text, bool hangs_up) : text_(std::move(text)), hangs_up_(hangs_up) {
    listener_.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    REQUIRE(::bind(listener_.get(), generic, size) == 0);
    REQUIRE(::getsockname(listener_.get(), generic, &size) == 0);
    REQUIRE(::listen(listener_.get(), 8) == 0);
    url_ = "ucx://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    std::array<int, 2> ends{};
    REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
    stop_heard_.reset(ends[0]);
    stop_.reset(ends[1]);
    thread_ = std::thread([this] { serve(); });
  }
  ~FakeDoor() {
    stop_.reset();
    thread_.join();
  }
  FakeDoor(const FakeDoor&) = delete;
  FakeDoor& operator=(const FakeDoor&) = delete;
  [[nodiscard]] const std::string& url() const { return url_; }
  [[nodiscard]] const std::string& heard() const { return heard_; }

 private:
  void serve() {
    std::array<pollfd, 2> wait{{{stop_heard_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}}};
    ::poll(wait.data(), wait.size(), -1);
    if (wait[0].revents != 0) return;
    UniqueFd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    std::array<char, 4096> bytes{};
    const ssize_t n = ::recv(client.get(), bytes.data(), bytes.size(), 0);
    if (n > 0) heard_.assign(bytes.data(), static_cast<std::size_t>(n));
    (void)!::send(client.get(), text_.data(), text_.size(), MSG_NOSIGNAL);
    if (hangs_up_) client.reset();
    ::poll(wait.data(), 1, -1);
  }

  std::string text_;
  bool hangs_up_;
  std::string url_;
  std::string heard_;  // read once the client has its answer
  UniqueFd listener_;
  UniqueFd stop_heard_;
  UniqueFd stop_;
  std::thread thread_;
};

std::string bytes_of(const DoorWelcome& welcome, const std::string& text = {}) {
  return std::string(reinterpret_cast<const char*>(&welcome), sizeof(welcome)) + text;
}

Error error_at(const std::string& url, milliseconds patience = milliseconds(10'000)) {
  try {
    (void)Client({.gateway = url, .token = "orc_secret", .connect_timeout = patience}).functions();
  } catch (const Error& error) {
    return error;
  }
  FAIL("no error was thrown");
  return Error({});
}

}  // namespace

TEST_CASE("a client says hello with its token, and is told why it may not come in") {
  const std::string document =
      R"({"type":"urn:orchid:problem:unauthenticated","detail":"no such token","retryable":false})";
  FakeDoor door(bytes_of(DoorWelcome{.status = 401,
                                     .text_bytes = static_cast<std::uint32_t>(document.size())},
                         document),
                true);
  const Error error = error_at(door.url());
  CHECK(error.kind() == ErrorKind::unauthenticated);
  CHECK(error.http_status() == 401);
  CHECK(error.message() == "no such token");
  REQUIRE(door.heard().size() == sizeof(DoorHello) + 10);
  CHECK(door.heard().starts_with("ORCHDOOR"));
  CHECK(door.heard().ends_with("orc_secret"));
}

TEST_CASE("a full door is no capacity, and worth another try") {
  const std::string document =
      R"({"type":"urn:orchid:problem:no_capacity","detail":"the door is full","retryable":true})";
  FakeDoor door(bytes_of(DoorWelcome{.status = 503,
                                     .text_bytes = static_cast<std::uint32_t>(document.size())},
                         document),
                true);
  const Error error = error_at(door.url());
  CHECK(error.kind() == ErrorKind::no_capacity);
  CHECK(error.retryable());
}

TEST_CASE("where there is no door, the client says so, whatever there is instead") {
  std::string nobody;
  {
    FakeDoor door("", true);
    nobody = door.url();
  }
  const Error refused = error_at(nobody);
  CHECK(refused.kind() == ErrorKind::unreachable);
  CHECK(refused.retryable());
  CHECK(refused.hint().find("--door-listen") != std::string::npos);
  CHECK(error_at("ucx://no-such-host.invalid:1").kind() == ErrorKind::unreachable);

  FakeDoor silent("", false);
  CHECK(error_at(silent.url(), milliseconds(200)).kind() == ErrorKind::timed_out);
  FakeDoor rude("", true);
  CHECK(error_at(rude.url()).kind() == ErrorKind::unreachable);
  FakeDoor half(bytes_of(DoorWelcome{.status = 401, .text_bytes = 100}, "too short"), true);
  CHECK(error_at(half.url()).kind() == ErrorKind::unreachable);
  FakeDoor web("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", true);
  CHECK(error_at(web.url()).kind() == ErrorKind::bad_request);
}

TEST_CASE("another version, and a welcome out of range, are errors of their own") {
  FakeDoor newer(bytes_of(DoorWelcome{.version = 2, .port = 4711}), false);
  const Error other = error_at(newer.url());
  CHECK(other.kind() == ErrorKind::unsupported);
  CHECK(other.message().find("version 2") != std::string::npos);
  FakeDoor wild(bytes_of(DoorWelcome{.status = 401, .text_bytes = 0x7fffffff}), false);
  CHECK(error_at(wild.url()).kind() == ErrorKind::bad_request);
  FakeDoor portless(bytes_of(DoorWelcome{.port = 0}), false);
  CHECK(error_at(portless.url()).kind() == ErrorKind::bad_request);
}

TEST_CASE("a door whose lane leads nowhere is unreachable") {
  // Port 1 of loopback: nobody listens there.
  FakeDoor door(bytes_of(DoorWelcome{.port = 1}), false);
  CHECK(error_at(door.url()).kind() == ErrorKind::unreachable);
}

TEST_CASE("an address of a door has a host and a port") {
  for (const char* url : {"ucx://", "ucx://host", "ucx://:1"})
    CHECK(error_at(url).kind() == ErrorKind::bad_configuration);
}

}  // namespace orchid
