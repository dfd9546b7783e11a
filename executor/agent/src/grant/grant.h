// grant/grant.h: for how long the cores are ours: until a time that is known, or for as long as a
// gateway wants them.
#pragma once
#include <chrono>
#include <optional>
#include <string>

#include "foundation/clock.h"
#include "protocol/control_messages.h"

namespace orchid::executor {

/// So long before its end nothing new begins in a grant: a tenth of its time, 2 to 30 s, and never
/// more than half of it. What runs longer than that is evicted and runs again elsewhere, so a
/// longer drain would waste more of the grant than it saves.
[[nodiscard]] std::chrono::milliseconds drain_time(std::chrono::milliseconds whole);

/// Pure: no clock of its own. Owned by the agent's thread.
class Grant {
 public:
  struct Options {
    GrantTerms terms;  // `ends_in` from the start of this process on
    /// It ends when no gateway has answered for so long; nothing: it waits for ever.
    std::optional<std::chrono::seconds> gateway_grace;
  };
  Grant(Options options, MonotonicTime now);

  /// As they are now.
  [[nodiscard]] GrantTerms terms(MonotonicTime now) const;
  [[nodiscard]] GrantSource source() const { return options_.terms.source; }

  void gateway_answers() { silent_since_.reset(); }
  void gateway_lost(MonotonicTime now);

  /// True once, when the drain is to begin.
  [[nodiscard]] bool begins_to_drain(MonotonicTime now);
  /// Nothing new from now on.
  void drain() { options_.terms.draining = true; }
  /// Why it is over, for people; nothing while it lasts.
  [[nodiscard]] std::optional<std::string> over(MonotonicTime now) const;

 private:
  Options options_;
  std::optional<MonotonicTime> drains_at_;
  std::optional<MonotonicTime> ends_at_;
  std::optional<MonotonicTime> silent_since_;  // no gateway has answered
};

}  // namespace orchid::executor
