#include "foundation/sockets.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace orchid {
namespace {

struct SocketDirectory {
  SocketDirectory() {
    std::string pattern = "/tmp/orchid-sockets-XXXXXX";
    path = ::mkdtemp(pattern.data());
  }
  ~SocketDirectory() { std::filesystem::remove_all(path); }
  std::filesystem::path path;
};

}  // namespace

TEST_CASE("packets keep their bounds and their descriptors") {
  auto [left, right] = make_packet_pair().value();
  const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  REQUIRE(send_packet(left.get(), "first", {null.get(), null.get()}).has_value());
  REQUIRE(send_packet(left.get(), "second").has_value());
  const auto first = receive_packet(right.get(), true).value();
  CHECK(first->text == "first");
  REQUIRE(first->descriptors.size() == 2);
  CHECK((::fcntl(first->descriptors[0].get(), F_GETFD) & FD_CLOEXEC) != 0);
  CHECK(receive_packet(right.get(), false).value()->text == "second");
  CHECK_FALSE(receive_packet(right.get(), false).value().has_value());
}

TEST_CASE("a peer that has gone or does not read is unreachable; too much is too_large") {
  auto [left, right] = make_packet_pair().value();
  CHECK(send_packet(left.get(), std::string(max_packet_bytes + 1, 'x')).error().code ==
        ErrorCode::too_large);
  Result<void> sent;
  for (int i = 0; i < 10'000 && sent; ++i) sent = send_packet(left.get(), std::string(10'000, 'x'));
  CHECK(sent.error().code == ErrorCode::unreachable);
  right.reset();
  CHECK(send_packet(left.get(), "x").error().code == ErrorCode::unreachable);
  CHECK(receive_packet(left.get(), true).error().code == ErrorCode::unreachable);
}

TEST_CASE("a socket is private, replaces a stale one, and knows its peer") {
  const SocketDirectory directory;
  const auto path = directory.path / "a.sock";
  {
    const auto stale = listen_packets(path).value();
  }
  const auto listener = listen_packets(path).value();
  CHECK((std::filesystem::status(path).permissions() & std::filesystem::perms::others_all) ==
        std::filesystem::perms::none);
  const auto client = connect_packets(path).value();
  const UniqueFd accepted(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  const auto peer = peer_credentials(accepted.get()).value();
  CHECK(peer.pid == ::getpid());
  CHECK(peer.uid == ::geteuid());
}

TEST_CASE("a socket's path of 107 bytes fits, one of 108 is reached through its directory") {
  const SocketDirectory directory;
  for (const std::size_t size : {107UL, 108UL}) {
    CAPTURE(size);
    std::string path = directory.path / "s";
    path.append(size - path.size(), 's');
    const auto fitted = fit_socket_path(path).value();
    CHECK((fitted.path == path) == (size == 107));
    const auto listener = listen_packets(path).value();
    CHECK(std::filesystem::is_socket(path));
    CHECK(connect_packets(path).has_value());
  }
}

TEST_CASE("a path too long for a socket address is reached through its directory") {
  const SocketDirectory directory;
  const auto deep = directory.path / std::string(120, 'd');
  std::filesystem::create_directory(deep);
  const auto listener = listen_packets(deep / "lanes.sock").value();
  CHECK(connect_packets(deep / "lanes.sock").has_value());
  CHECK(connect_packets(directory.path / "none.sock").error().code == ErrorCode::unreachable);
  CHECK(listen_packets(deep / std::string(120, 'n')).error().code == ErrorCode::bad_configuration);
}

}  // namespace orchid
