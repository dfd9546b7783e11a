// crew/lane_relay.h: a program in the middle between clients and an executor of their host, which
// may change what they say.
#pragma once
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "foundation/sockets.h"
#include "local_executor.h"
#include "protocol/lane_messages.h"

namespace orchid::tests {

/// A thread of its own, which calls `look`.
class LaneRelay {
 public:
  enum class Verdict { passes, is_lost, ends };  // it ends the conversation
  /// What becomes of a packet, which may be changed.
  using Look = std::function<Verdict(LaneMessage& message, std::vector<UniqueFd>& files)>;
  LaneRelay(std::filesystem::path executor, Look look)
      : executor_(std::move(executor)), look_(std::move(look)) {
    auto listener = listen_packets(path());
    if (!listener) throw std::runtime_error(listener.error().message);
    listener_ = std::move(*listener);
    stop_ = UniqueFd(::eventfd(0, EFD_CLOEXEC));
    thread_ = std::thread([this] { run(); });
  }
  ~LaneRelay() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(stop_.get(), &one, sizeof(one));
    thread_.join();
  }
  LaneRelay(const LaneRelay&) = delete;
  LaneRelay& operator=(const LaneRelay&) = delete;
  [[nodiscard]] std::filesystem::path path() const { return directory_.path() / "relay.sock"; }

 private:
  using Ends = std::pair<UniqueFd, UniqueFd>;  // the client's, the executor's
  void run() {
    std::vector<Ends> all;
    while (true) {
      std::vector<pollfd> waits{{stop_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
      for (const Ends& ends : all) {
        waits.push_back({ends.first.get(), POLLIN, 0});
        waits.push_back({ends.second.get(), POLLIN, 0});
      }
      constexpr int patience_ms = 60'000;
      if (::poll(waits.data(), waits.size(), patience_ms) <= 0 || waits[0].revents != 0) return;
      std::erase_if(all, [&](const Ends& ends) {
        return !carry(ends.first, ends.second) || !carry(ends.second, ends.first);
      });
      UniqueFd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!client) continue;
      auto executor = connect_packets(executor_);
      if (executor) all.emplace_back(std::move(client), std::move(*executor));
    }
  }
  /// False: the conversation is over.
  [[nodiscard]] bool carry(const UniqueFd& from, const UniqueFd& to) {
    while (true) {
      auto packet = receive_packet(from.get(), false);
      if (!packet) return false;
      if (!*packet) return true;
      auto message = parse_lane_message((*packet)->text);
      if (!message) return false;
      const Verdict verdict = look_(*message, (*packet)->descriptors);
      if (verdict == Verdict::ends) return false;
      if (verdict == Verdict::is_lost) continue;
      std::vector<int> files;
      for (const UniqueFd& file : (*packet)->descriptors) files.push_back(file.get());
      if (!send_packet(to.get(), encode(*message), files)) return false;
    }
  }

  TemporaryDirectory directory_;
  std::filesystem::path executor_;
  Look look_;
  UniqueFd listener_;
  UniqueFd stop_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace orchid::tests
