// invocations/invocation_view.h: what a caller may know about an invocation, whoever looks after
// it.
#pragma once
#include <functional>
#include <optional>
#include <string>

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
};

struct InvocationLog {
  std::string text;
  std::uint64_t dropped = 0;  // bytes over the limit
  bool complete = false;      // the invocation has ended
};

/// Called once, on the thread that was asked. An empty optional: not known there.
using ViewDone = std::function<void(Result<std::optional<InvocationView>>)>;

}  // namespace orchid::gateway
