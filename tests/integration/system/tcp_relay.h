// system/tcp_relay.h: a way to a server that can be cut while both ends live on.
#pragma once
#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <list>
#include <string>
#include <thread>

#include "foundation/tcp.h"
#include "foundation/unique_fd.h"

namespace orchid::tests {

/// Listens on a port of 127.0.0.1 and passes on what comes to another one. Cut at its end.
class TcpRelay {
 public:
  explicit TcpRelay(int target_port) : target_port_(target_port) {
    auto listening = listen_tcp("127.0.0.1:0");
    REQUIRE(listening.has_value());
    address_ = listening->address;
    listener_ = std::move(listening->socket);
    thread_ = std::thread([this] { run(); });
  }
  ~TcpRelay() { cut(); }
  TcpRelay(const TcpRelay&) = delete;
  TcpRelay& operator=(const TcpRelay&) = delete;

  [[nodiscard]] const std::string& address() const { return address_; }
  /// Nothing goes through any more, nor ever again.
  void cut() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
  }

 private:
  struct Pair {
    std::array<UniqueFd, 2> ends;
  };
  void run() {
    while (!stopping_) {
      std::vector<pollfd> wait{{listener_.get(), POLLIN, 0}};
      for (const Pair& pair : pairs_)
        for (const UniqueFd& end : pair.ends) wait.push_back({end.get(), POLLIN, 0});
      if (::poll(wait.data(), wait.size(), 20) <= 0) continue;
      std::size_t at = 1;
      for (auto pair = pairs_.begin(); pair != pairs_.end(); at += 2) {
        const bool over = (wait[at].revents != 0 && !pass(pair->ends[0], pair->ends[1])) ||
                          (wait[at + 1].revents != 0 && !pass(pair->ends[1], pair->ends[0]));
        pair = over ? pairs_.erase(pair) : std::next(pair);
      }
      if (wait[0].revents != 0) admit();
    }
    pairs_.clear();
    listener_.reset();
  }
  void admit() {
    Pair pair{{UniqueFd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)),
               UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))}};
    sockaddr_in target{};
    target.sin_family = AF_INET;
    target.sin_port = htons(static_cast<std::uint16_t>(target_port_));
    target.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (pair.ends[0] &&
        ::connect(pair.ends[1].get(), reinterpret_cast<sockaddr*>(&target), sizeof(target)) == 0)
      pairs_.push_back(std::move(pair));
  }
  static bool pass(const UniqueFd& from, const UniqueFd& to) {
    std::array<char, 65536> part{};
    const ssize_t got = ::recv(from.get(), part.data(), part.size(), 0);
    return got > 0 &&
           ::send(to.get(), part.data(), static_cast<std::size_t>(got), MSG_NOSIGNAL) == got;
  }

  int target_port_;
  std::string address_;
  UniqueFd listener_;
  std::atomic<bool> stopping_{false};
  std::list<Pair> pairs_;  // of the thread
  std::thread thread_;
};

}  // namespace orchid::tests
