// flow_run/quick_calls.h: calls through the gateway that most likely end at once, many of them at a
// time and all by one thread.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orchid/client.h"

namespace orchid::sdk {
class RequestLoop;
}

namespace orchid::flow {

/// Any thread.
class QuickCalls {
 public:
  /// Nothing: there is no result after a second, be it that the call lasts longer, has failed, or
  /// was not made. Who asks again, under the same key, hears what it is. Called once for each call,
  /// on a thread of this object's own, which it may not hold up.
  using Ended = std::function<void(std::optional<Reply>)>;
  /// Throws `orchid::Error`.
  explicit QuickCalls(const ClientOptions& options);
  /// Nobody hears of calls that have not ended; they go on.
  ~QuickCalls();
  QuickCalls(const QuickCalls&) = delete;
  QuickCalls& operator=(const QuickCalls&) = delete;

  /// `options` have an idempotency key; their `watch` is not called.
  void start(const std::string& function, std::vector<std::byte> input,
             const InvokeOptions& options, Ended ended);

 private:
  std::unique_ptr<sdk::RequestLoop> loop_;
};

}  // namespace orchid::flow
