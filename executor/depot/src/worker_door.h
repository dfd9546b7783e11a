// worker_door.h: what one worker may send over its service socket, and when. Decisions only: no
// socket.
#pragma once
#include <cstdint>
#include <string_view>
#include <variant>

#include "foundation/token_bucket.h"
#include "protocol/service_messages.h"

namespace orchid::executor {

/// Whether a name may be asked for: that of data, by its rules, and perhaps "@VERSION" behind it.
[[nodiscard]] bool is_data_name(std::string_view name);

/// Of one worker. Nothing of what it sends is believed.
class WorkerDoor {
 public:
  /// `again`: depots before this one may have taken a request, and each that came asks the worker
  /// to send it again: it may be here already, and come once more for each of them. It may also
  /// have been answered, and the worker's next request is behind it.
  explicit WorkerDoor(bool again) : may_repeat_(again) {}
  /// How often one worker may ask: what it asks, the agent has to do.
  static constexpr TokenBucket::Rate requests{.per_second = 1000, .burst = 256};

  struct Nonsense {};  // it is to be ended
  struct Nothing {};   // the same request again, because it was asked for
  /// It goes to the agent.
  struct Passes {
    ServiceRequest request;
  };
  /// The depot itself answers: nothing has such a name.
  struct Refused {
    ServiceAnswer answer;
  };
  using Verdict = std::variant<Nonsense, Nothing, Passes, Refused>;
  [[nodiscard]] Verdict take(std::string_view packet);
  /// When the next packet may be taken, and one that is.
  [[nodiscard]] TokenBucket& tokens() { return tokens_; }
  /// Whether the worker waits for this answer: now it does not any more.
  [[nodiscard]] bool answered(std::uint32_t sequence);

 private:
  std::uint32_t waits_for_ = 0;  // the sequence of its request; 0: it may send another one
  std::uint32_t last_ = 0;       // of the last request that was taken
  std::uint64_t taken_ = 0;      // different requests
  bool may_repeat_;
  TokenBucket tokens_{requests};
};

}  // namespace orchid::executor
