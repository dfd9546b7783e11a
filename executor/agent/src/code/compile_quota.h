// code/compile_quota.h: how much compile time the modules that functions make may take.
#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>

#include "foundation/clock.h"
#include "foundation/result.h"

namespace orchid::executor {

/// Pure. Owned by the agent's thread. Of each tenant, at this executor: what was used becomes free
/// again evenly, all of it in an hour.
class CompileQuota {
 public:
  static constexpr std::chrono::hours window{1};
  explicit CompileQuota(std::chrono::milliseconds most) : most_(most) {}

  /// Why that tenant's functions make nothing now; nothing: they may. One that may can take more
  /// than is left: how long it takes is not known before.
  [[nodiscard]] std::optional<Failure> refusal(std::uint32_t tenant, MonotonicTime now) {
    const Nanoseconds used = used_by(tenant, now);
    if (used < most_) return std::nullopt;
    using Seconds = std::chrono::duration<double>;
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
  void spend(std::uint32_t tenant, std::chrono::nanoseconds time, MonotonicTime now) {
    const Nanoseconds used = used_by(tenant, now);
    accounts_[tenant] = {.used = used + time, .since = now};
  }

 private:
  using Nanoseconds = std::chrono::nanoseconds;
  struct Account {
    Nanoseconds used{0};
    MonotonicTime since;
  };
  /// Forgets who has used nothing lately.
  [[nodiscard]] Nanoseconds used_by(std::uint32_t tenant, MonotonicTime now) {
    const auto account = accounts_.find(tenant);
    if (account == accounts_.end()) return Nanoseconds(0);
    using Seconds = std::chrono::duration<double>;
    const Seconds freed =
        Seconds(now - account->second.since) * (Seconds(most_).count() / Seconds(window).count());
    const Nanoseconds used = account->second.used - std::chrono::duration_cast<Nanoseconds>(freed);
    if (used > Nanoseconds(0)) return used;
    accounts_.erase(account);
    return Nanoseconds(0);
  }

  std::chrono::milliseconds most_;
  std::map<std::uint32_t, Account> accounts_;
};

}  // namespace orchid::executor
