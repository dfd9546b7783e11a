// code/compile_quota.h: how much compile time the modules that functions make may take.
#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "foundation/clock.h"
#include "foundation/result.h"

namespace orchid::executor {

/// Pure. Owned by the agent's thread. Of each tenant, at this executor: what was used becomes free
/// again evenly, all of it in an hour.
class CompileQuota {
 public:
  static constexpr std::chrono::hours window{1};
  /// What a module counts for until it is compiled: how long that takes is not known before.
  static constexpr std::chrono::milliseconds expected{500};
  /// At what a tenant asks for that may make nothing.
  static constexpr double looks_in_a_second = 100;
  explicit CompileQuota(std::chrono::milliseconds most) : most_(most) {}

  /// A module that may be compiled counts as `expected` while this is there.
  class Reservation {
   public:
    explicit Reservation(std::shared_ptr<std::uint32_t> open) : open_(std::move(open)) { ++*open_; }
    ~Reservation() { --*open_; }
    Reservation(const Reservation&) = delete;
    Reservation& operator=(const Reservation&) = delete;

   private:
    std::shared_ptr<std::uint32_t> open_;  // shared with the account: whichever goes first
  };
  /// Copied with what is done when it is compiled.
  [[nodiscard]] std::shared_ptr<const Reservation> reserve(std::uint32_t tenant,
                                                           MonotonicTime now) {
    (void)used_by(tenant, now);
    Account& account = accounts_.try_emplace(tenant, Account{.since = now}).first->second;
    return std::make_shared<const Reservation>(account.open);
  }

  /// Why that tenant's functions make nothing now; nothing: they may. One that may can take more
  /// than is left.
  [[nodiscard]] std::optional<Failure> refusal(std::uint32_t tenant, MonotonicTime now) {
    const Nanoseconds used = used_by(tenant, now);
    const std::uint32_t open = open_of(tenant);
    if (used + open * expected < most_) return std::nullopt;
    using Seconds = std::chrono::duration<double>;
    if (used < most_)
      return Failure{ErrorCode::quota,
                     fmt::format("of the {:.1f} s in an hour that modules which your functions "
                                 "make may take to compile here, {:.1f} s are used, and the {} "
                                 "that are being compiled may take the rest: try again when they "
                                 "are there, or let the program load them",
                                 Seconds(most_).count(), Seconds(used).count(), open)};
    // Until a tenth of all is free.
    const double wait = Seconds(used - most_ + most_ / 10).count() * Seconds(window).count() /
                        std::max(Seconds(most_).count(), 1e-3);
    return Failure{
        ErrorCode::quota,
        fmt::format("modules that your functions have made took {:.1f} s to compile here, and "
                    "{:.1f} s in an hour are allowed: try again in {:.0f} s, make fewer, or let "
                    "the program load them",
                    Seconds(used).count(), Seconds(most_).count(), wait)};
  }

  /// Why what a tenant's function asks for is not even looked at now; nothing: it is. One that may
  /// make nothing may still have what is known, but is not to keep the agent busy with that.
  [[nodiscard]] std::optional<Failure> refusal_to_look(std::uint32_t tenant, MonotonicTime now) {
    auto refused = refusal(tenant, now);
    if (!refused) return std::nullopt;
    Account& account = accounts_.try_emplace(tenant, Account{.since = now}).first->second;
    const double since = std::chrono::duration<double>(now - account.looked).count();
    account.looks = std::min(account.looks + since * looks_in_a_second, looks_in_a_second);
    account.looked = now;
    if (account.looks < 1) return refused;
    account.looks -= 1;
    return std::nullopt;
  }

  void spend(std::uint32_t tenant, std::chrono::nanoseconds time, MonotonicTime now) {
    const Nanoseconds used = used_by(tenant, now);
    Account& account = accounts_[tenant];
    account.used = used + time;
    account.since = now;
  }

 private:
  using Nanoseconds = std::chrono::nanoseconds;
  struct Account {
    Nanoseconds used{0};
    MonotonicTime since;
    std::shared_ptr<std::uint32_t> open = std::make_shared<std::uint32_t>(0);  // reservations
    double looks = looks_in_a_second;                                          // left at `looked`
    MonotonicTime looked;
  };
  [[nodiscard]] std::uint32_t open_of(std::uint32_t tenant) const {
    const auto account = accounts_.find(tenant);
    return account == accounts_.end() ? 0 : *account->second.open;
  }
  /// Forgets who has used nothing lately.
  [[nodiscard]] Nanoseconds used_by(std::uint32_t tenant, MonotonicTime now) {
    const auto account = accounts_.find(tenant);
    if (account == accounts_.end()) return Nanoseconds(0);
    using Seconds = std::chrono::duration<double>;
    const Seconds freed =
        Seconds(now - account->second.since) * (Seconds(most_).count() / Seconds(window).count());
    const Nanoseconds used = account->second.used - std::chrono::duration_cast<Nanoseconds>(freed);
    if (used > Nanoseconds(0)) return used;
    if (*account->second.open == 0)
      accounts_.erase(account);
    else
      account->second = {.since = now, .open = account->second.open};
    return Nanoseconds(0);
  }

  std::chrono::milliseconds most_;
  std::map<std::uint32_t, Account> accounts_;
};

}  // namespace orchid::executor
