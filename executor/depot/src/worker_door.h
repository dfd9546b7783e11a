// worker_door.h: what one worker may send over its service socket, and when. Decisions only: no
// socket.
#pragma once
#include <cstdint>
#include <string_view>
#include <variant>

#include "protocol/service_messages.h"

namespace orchid::executor {

/// Whether a name may be asked for: that of data, by its rules, and perhaps "@VERSION" behind it.
[[nodiscard]] bool is_data_name(std::string_view name);

/// Of one worker. Nothing of what it sends is believed.
class WorkerDoor {
 public:
  /// `again`: a depot before this one may have taken a request, which the worker is asked to send
  /// again; it may be here already.
  explicit WorkerDoor(bool again) : may_repeat_(again) {}

  struct Nonsense {};  // it is to be ended
  struct Nothing {};   // the same request again, because we have asked for it
  /// It goes to the agent.
  struct Passes {
    ServiceRequest request;
  };
  /// The depot itself answers: no object has such a name.
  struct Refused {
    ServiceAnswer answer;
  };
  using Verdict = std::variant<Nonsense, Nothing, Passes, Refused>;
  [[nodiscard]] Verdict take(std::string_view packet);
  /// Whether the worker waits for this answer: now it does not any more.
  [[nodiscard]] bool answered(std::uint32_t sequence);

 private:
  std::uint32_t waits_for_ = 0;  // the sequence of its request; 0: it may send another one
  std::uint32_t last_ = 0;       // of the last request that was taken
  bool may_repeat_;
};

}  // namespace orchid::executor
