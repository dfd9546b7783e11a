// leases/host_reservations.h: hosts where nobody but one holder gets another worker, until there is
// room for one of its. Plain data; whose turn it is, and where, is the broker's decision
// (decision 0029).
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "foundation/clock.h"
#include "leases/lease_book.h"

namespace orchid::gateway {

/// Owned by the control thread.
class HostReservations {
 public:
  struct Reservation {
    HolderId holder;
    ExecutorId executor;           // whose cores its worker is to have
    placement::WorkerShape shape;  // of the worker
    MonotonicTime began;
    MonotonicTime until;
    bool asked = false;        // those who have to give for it
    std::uint64_t number = 0;  // in the order in which they began
  };
  /// By the host's boot id.
  using Reservations = std::map<std::string, Reservation>;

  /// Everybody else has his turn first: for as long as the last one took, and at least `pause`.
  explicit HostReservations(std::chrono::milliseconds pause) : pause_(pause) {}

  [[nodiscard]] const Reservations& all() const { return reserved_; }
  [[nodiscard]] Reservations& all() { return reserved_; }
  [[nodiscard]] bool may_begin(const std::string& boot_id, MonotonicTime now) const {
    if (reserved_.contains(boot_id)) return false;
    const auto open = open_until_.find(boot_id);
    return open == open_until_.end() || open->second <= now;
  }
  /// `may_begin` is true of the host.
  void begin(const std::string& boot_id, Reservation reservation) {
    reservation.number = ++last_number_;
    reserved_.emplace(boot_id, std::move(reservation));
  }
  void end(const std::string& boot_id, MonotonicTime now) {
    const auto found = reserved_.find(boot_id);
    if (found == reserved_.end()) return;
    const auto lasted = std::max<MonotonicTime::duration>(now - found->second.began, pause_);
    reserved_.erase(found);
    std::erase_if(open_until_, [now](const auto& entry) { return entry.second <= now; });
    open_until_[boot_id] = now + lasted;
  }
  [[nodiscard]] unsigned count_of(HolderId holder) const {
    return static_cast<unsigned>(std::ranges::count(
        reserved_, holder, [](const auto& entry) { return entry.second.holder; }));
  }
  /// Those of the holder that are older than that of this host; all, if it is not reserved.
  [[nodiscard]] unsigned count_before(const std::string& boot_id, HolderId holder) const {
    const auto here = reserved_.find(boot_id);
    return static_cast<unsigned>(std::ranges::count_if(reserved_, [&](const auto& entry) {
      return entry.second.holder == holder &&
             (here == reserved_.end() || entry.second.number < here->second.number);
    }));
  }

 private:
  std::chrono::milliseconds pause_;
  Reservations reserved_;
  std::uint64_t last_number_ = 0;
  std::map<std::string, MonotonicTime> open_until_;  // hosts that are not reserved before then
};

}  // namespace orchid::gateway
