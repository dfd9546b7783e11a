// invocations/invocation_view.h: what a caller may know about an invocation, whoever looks after
// it.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "foundation/clock.h"
#include "foundation/result.h"
#include "store/records.h"

namespace orchid::gateway {

/// A value. `record.state` says how far it is: started means that it was handed to a worker's
/// queue.
struct InvocationView {
  InvocationRecord record;
  bool synchronous = false;  // its output was the answer to its request, and is not kept
  /// Of one that runs, from 0 to 1; nothing: it has not said.
  std::optional<double> progress{};
  /// Of one that has ended while it was waited for; nothing: the store has it.
  std::optional<Payload> output{};
};

/// How long an invocation is waited for: until its end, or what is said here.
struct ViewWait {
  MonotonicTime until{};               // default: no longer
  std::optional<StoredState> known{};  // set: also until it is in another state than this one
  [[nodiscard]] bool goes_on(StoredState state, MonotonicTime now) const {
    return until > now && (!known || *known == state);
  }
};

struct InvocationLog {
  std::string text;
  std::uint64_t dropped = 0;  // bytes over the limit
  bool complete = false;      // the invocation has ended
};

/// Called once, on the thread that was asked. An empty optional: not known there.
using ViewDone = std::function<void(Result<std::optional<InvocationView>>)>;

}  // namespace orchid::gateway
