// lanes/client_questions.h: what a client is asked for the calls of its crew, and who waits for
// that.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "foundation/clock.h"
#include "foundation/result.h"

namespace orchid::executor {

/// Questions with one kind of answer. Pure. Owned by its session. What is forgotten is not told.
template <typename Answer>
class ClientQuestions {
 public:
  /// A client knows what it is asked, or asks the gateway.
  static constexpr std::chrono::seconds patience{10};
  using Told = std::function<void(Result<Answer> answer)>;

  /// `what`: that the client has not done, for who has waited for too long.
  explicit ClientQuestions(const char* what) : what_(what) {}

  /// True: the client is to be asked that.
  [[nodiscard]] bool add(const std::string& name, Told told, MonotonicTime now) {
    const auto [waiting, is_new] =
        waiting_.try_emplace(name, Waiting{.due = now + patience, .told = {}});
    waiting->second.told.push_back(std::move(told));
    return is_new;
  }
  /// Who waits for what has come.
  [[nodiscard]] std::vector<Told> take(const std::string& name) {
    auto waiting = waiting_.extract(name);
    return waiting.empty() ? std::vector<Told>() : std::move(waiting.mapped().told);
  }
  /// Tells those who have waited for too long that nothing comes. They may ask again.
  void expire(MonotonicTime now) {
    std::vector<Told> late;
    for (auto waiting = waiting_.begin(); waiting != waiting_.end();) {
      if (now < waiting->second.due) {
        ++waiting;
        continue;
      }
      std::ranges::move(waiting->second.told, std::back_inserter(late));
      waiting = waiting_.erase(waiting);
    }
    for (const Told& told : late)
      told(fail(ErrorCode::timed_out, std::string("the program of the crew has not ") + what_ +
                                          " within " + std::to_string(patience.count()) +
                                          " s: does it run? Try again"));
  }
  void clear() { waiting_.clear(); }

 private:
  struct Waiting {
    MonotonicTime due;
    std::vector<Told> told;
  };
  const char* what_;
  std::map<std::string, Waiting> waiting_;  // by what is asked
};

}  // namespace orchid::executor
