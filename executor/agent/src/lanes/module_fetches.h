// lanes/module_fetches.h: modules that a client is asked to send once more, or to keep, and who
// waits for that.
#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foundation/clock.h"
#include "foundation/result.h"
#include "foundation/unique_fd.h"

namespace orchid::executor {

/// What a client has sent, or nothing if it was to keep something.
struct FetchedModule {
  UniqueFd bytes;
  std::string digest;  // as the client says: whoever compiles them looks
  bool made = false;   // by a call of its crew, at another executor
  /// Of what was made: the bytes are constants for the module with this digest. Empty: they are a
  /// module.
  std::string base = {};
};

/// Pure. Owned by its session. What is forgotten is not told.
class ModuleFetches {
 public:
  /// A client has what it is asked for: it loaded it.
  static constexpr std::chrono::seconds patience{10};
  using Fetched = std::function<void(Result<FetchedModule> module)>;
  /// `sent`: what a client has not done when it is late.
  explicit ModuleFetches(std::string_view sent = "sent") : sent_(sent) {}

  /// True: the client is to be asked for it.
  [[nodiscard]] bool add(const std::string& name, Fetched fetched, MonotonicTime now) {
    const auto [waiting, is_new] =
        waiting_.try_emplace(name, Waiting{.due = now + patience, .fetched = {}});
    waiting->second.fetched.push_back(std::move(fetched));
    return is_new;
  }
  /// Who waits for what has come.
  [[nodiscard]] std::vector<Fetched> take(const std::string& name) {
    auto waiting = waiting_.extract(name);
    return waiting.empty() ? std::vector<Fetched>() : std::move(waiting.mapped().fetched);
  }
  /// Tells those who have waited for too long that nothing comes. They may ask again.
  void expire(MonotonicTime now) {
    std::vector<Fetched> late;
    for (auto waiting = waiting_.begin(); waiting != waiting_.end();) {
      if (now < waiting->second.due) {
        ++waiting;
        continue;
      }
      std::ranges::move(waiting->second.fetched, std::back_inserter(late));
      waiting = waiting_.erase(waiting);
    }
    for (const Fetched& fetched : late)
      fetched(fail(ErrorCode::timed_out,
                   fmt::format("the program of the crew has not {} the module within {} s: does "
                               "it run? Try again",
                               sent_, patience.count())));
  }
  void clear() { waiting_.clear(); }

 private:
  struct Waiting {
    MonotonicTime due;
    std::vector<Fetched> fetched;
  };
  std::string_view sent_;                   // a literal
  std::map<std::string, Waiting> waiting_;  // by digest, or however it is named
};

}  // namespace orchid::executor
