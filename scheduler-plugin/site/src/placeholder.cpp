#include "site/placeholder.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <optional>
#include <utility>

#include "foundation/log.h"
#include "foundation/sockets.h"

namespace orchid::site {
namespace {

using Clock = std::chrono::steady_clock;

/// Owned by main's thread.
class GrantedPlace {
 public:
  GrantedPlace(UniqueFd socket, UniqueFd signals, UniqueFd feed)
      : socket_(std::move(socket)), signals_(std::move(signals)), feed_(std::move(feed)) {}

  /// Until it is granted; false: we were asked to end first.
  Result<bool> wait_for_grant() {
    const auto give_up = Clock::now() + answered_within;
    while (true) {
      auto event = next(give_up);
      if (!event) return fail(std::move(event.error()));
      if (*event == Event::signal) return false;
      if (*event == Event::nothing)
        return fail(ErrorCode::timed_out, "orchid-host has not answered the offer");
      if (auto* taken = std::get_if<GrantTaken>(&message_)) {
        log::info("event=granted cores={} executor={}", to_core_text(taken->cores),
                  taken->executor);
        return true;
      }
      return fail(other_message());
    }
  }

  Result<void> hold() {
    auto give_up = Clock::time_point::max();
    while (true) {
      auto event = next(give_up);
      if (!event) return fail(std::move(event.error()));
      if (*event == Event::nothing)
        return fail(ErrorCode::timed_out, "orchid-host has not cleared the cores in time");
      if (*event == Event::signal) {
        if (give_up != Clock::time_point::max()) continue;  // told already
        give_up = Clock::now() + clear_within;
        if (auto told = send_packet(socket_.get(), encode(GrantLeave{})); !told) return told;
        continue;
      }
      const auto* clear = std::get_if<GrantClear>(&message_);
      if (clear == nullptr) return fail(other_message());
      log::info("event=clear executor=\"{}\"", clear->message);
      if (clear->in_order) return {};
      return fail(ErrorCode::system,
                  clear->message + "; the log of orchid-host on this node says why");
    }
  }

 private:
  enum class Event { nothing, signal, message };

  Result<Event> next(Clock::time_point give_up) {
    while (true) {
      int time = -1;
      if (give_up != Clock::time_point::max()) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(give_up - Clock::now());
        if (left.count() <= 0) return Event::nothing;
        time = static_cast<int>(left.count());
      }
      std::array<pollfd, 3> wait{{{signals_.get(), POLLIN, 0},
                                  {socket_.get(), POLLIN, 0},
                                  {executor_ ? feed_.get() : -1, POLLIN, 0}}};
      if (::poll(wait.data(), wait.size(), time) < 0 && errno != EINTR) return fail_errno("poll");
      signalfd_siginfo signal{};
      if (wait[0].revents != 0 && ::read(signals_.get(), &signal, sizeof(signal)) > 0)
        return Event::signal;
      if (wait[2].revents != 0) pass_on();
      if (wait[1].revents == 0) continue;
      auto packet = receive_packet(socket_.get(), false);
      if (!packet)
        return fail(ErrorCode::unreachable,
                    "orchid-host on this node has gone, and its executors with it");
      if (!*packet) continue;
      auto message = parse_grant_message((*packet)->text);
      if (!message) return fail(std::move(message.error()));
      message_ = std::move(*message);
      if (std::holds_alternative<GrantTaken>(message_) && (*packet)->descriptors.size() == 1)
        executor_ = std::move((*packet)->descriptors.front());
      return Event::message;
    }
  }

  [[nodiscard]] Failure other_message() const {
    if (const auto* refused = std::get_if<GrantRefused>(&message_))
      return {refused->code, refused->message};
    return {ErrorCode::bad_request, "orchid-host sent a message that does not belong here"};
  }

  /// From who knows which cores may be used to the executor. One that reads no more is ending, and
  /// the host says so.
  void pass_on() {
    std::array<char, 4096> part;
    const ssize_t got = ::read(feed_.get(), part.data(), part.size());
    if (got < 0 && errno == EINTR) return;
    if (got > 0 && ::write(executor_.get(), part.data(), static_cast<std::size_t>(got)) == got)
      return;
    feed_.reset();
    executor_.reset();
  }

  UniqueFd socket_;
  UniqueFd signals_;
  UniqueFd feed_;      // may be empty
  UniqueFd executor_;  // the pipe that it reads; empty: not yet, or no more
  GrantMessage message_ = GrantLeave{};
};

}  // namespace

Result<void> hold_place(PlaceholderOptions options) {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGTERM);
  ::sigaddset(&signals, SIGINT);
  UniqueFd descriptor(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!descriptor) return fail_errno("signalfd");
  auto socket = connect_packets(options.socket);
  if (!socket)
    return fail(ErrorCode::unreachable,
                fmt::format("no orchid-host answers on this node ({}); ask the site's "
                            "administrator to start it, or leave out --site",
                            socket.error().message));
  options.offer.feed = static_cast<bool>(options.feed);
  if (auto sent = send_packet(socket->get(), encode(options.offer)); !sent) return sent;
  GrantedPlace place(std::move(*socket), std::move(descriptor), std::move(options.feed));
  const auto granted = place.wait_for_grant();
  if (!granted) return fail(granted.error());
  return *granted ? place.hold() : Result<void>();
}

}  // namespace orchid::site
