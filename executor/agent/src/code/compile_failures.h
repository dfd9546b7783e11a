// code/compile_failures.h: compilations that cost much and came to nothing, so that they are not
// begun again by each call.
#pragma once
#include <chrono>
#include <list>
#include <optional>
#include <string>
#include <utility>

#include "foundation/clock.h"
#include "foundation/result.h"

namespace orchid::executor {

/// Pure. Owned by the agent's thread.
class CompileFailures {
 public:
  static constexpr std::size_t most = 256;  // the oldest goes first
  static constexpr std::chrono::minutes remembered{10};

  /// `key`: what the code would depend on.
  void remember(const std::string& key, Failure why, MonotonicTime now) {
    forget(key);
    if (known_.size() == most) known_.pop_back();
    known_.push_front({key, std::move(why), now});
  }
  /// Nothing: it may be tried.
  [[nodiscard]] std::optional<Failure> find(const std::string& key, MonotonicTime now) {
    while (!known_.empty() && now - known_.back().since >= remembered) known_.pop_back();
    for (const Known& one : known_)
      if (one.key == key) return one.why;
    return std::nullopt;
  }
  [[nodiscard]] std::size_t size() const { return known_.size(); }

 private:
  struct Known {
    std::string key;
    Failure why;
    MonotonicTime since;
  };
  void forget(const std::string& key) {
    known_.remove_if([&](const Known& one) { return one.key == key; });
  }
  std::list<Known> known_;  // newest first
};

}  // namespace orchid::executor
