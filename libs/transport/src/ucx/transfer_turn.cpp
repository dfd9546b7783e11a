#include "ucx/transfer_turn.h"
#include "ucx/told_to_stop.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <string>

namespace orchid::transport {
namespace {

/// The clock and the sign to stop are not looked at more often, as long as there is work.
constexpr std::chrono::milliseconds look_interval{5};
/// UCX may have something to do that wakes nobody: its keepalive.
constexpr std::chrono::milliseconds longest_sleep{100};
/// Who has had no processor for longer than its patience has not looked at what has come meanwhile.
constexpr std::chrono::milliseconds second_look{200};

}  // namespace

TransferTurn::TransferTurn(UcxLink& link, const TransferPace& pace, const char* peer)
    : link_(link), pace_(pace), peer_(peer), moved_at_(std::chrono::steady_clock::now()) {}

Result<void> TransferTurn::take(std::uint64_t moved, const Own& own) {
  const bool worked = link_.progress();
  if (link_.failure()) return fail(*link_.failure());
  const auto now = std::chrono::steady_clock::now();
  if (worked && now < checked_ + look_interval) return {};
  checked_ = now;
  if (own.is_late) {
    moved_at_ = now;
    overdue_since_.reset();
  }
  if (auto good = check(moved); !good) return good;
  if (!worked) sleep(own);
  return {};
}

Result<void> TransferTurn::check(std::uint64_t moved) {
  if (is_told_to_stop(pace_.stop))
    return fail(ErrorCode::cancelled, "the transfer was told to end");
  if (moved != moved_) {
    moved_ = moved;
    moved_at_ = checked_;
    overdue_since_.reset();
  }
  if (checked_ > pace_.deadline)
    return fail(ErrorCode::timed_out, "the transfer has taken longer than it may");
  if (checked_ <= moved_at_ + pace_.patience) return {};
  if (!overdue_since_) overdue_since_ = checked_;
  if (checked_ >= *overdue_since_ + second_look)
    return fail(ErrorCode::timed_out,
                "the " + std::string(peer_) + " of the transfer does not get on");
  return {};
}

void TransferTurn::sleep(const Own& own) {
  if (!link_.arm()) return;
  const auto patience_ends =
      overdue_since_ ? *overdue_since_ + second_look : moved_at_ + pace_.patience;
  const auto until = std::min({pace_.deadline, patience_ends, checked_ + longest_sleep});
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - checked_);
  std::array entries{pollfd{.fd = link_.wake_descriptor(), .events = POLLIN, .revents = 0},
                     pollfd{.fd = pace_.stop, .events = POLLIN, .revents = 0},
                     pollfd{.fd = own.pipe, .events = own.events, .revents = 0}};
  ::poll(entries.data(), entries.size(), static_cast<int>(std::max<long>(left.count() + 1, 0)));
}

}  // namespace orchid::transport
