// invocations/async_data.cpp: the data objects that an asynchronous call is given.
#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "calls/worker_for.h"
#include "invocations/async_invocations.h"

namespace orchid::gateway {

/// Where they are now; which they are was decided when the call was accepted. False: it has ended,
/// or waits again.
bool AsyncInvocations::find_its_data(BookedInvocation& invocation) {
  const InvocationRecord& record = invocation.record;
  if (record.data.empty()) return true;
  auto data = parts_.find_data.find(
      record.tenant, record.data,
      worker_for(*invocation.version,
                 {.kind = record.kind, .device = record.device, .cluster = record.cluster}));
  if (data) {
    invocation.data = *data;
    if ((*data)->waits_for.empty()) {
      end_transfer(invocation);
      return true;
    }
    if (!invocation.data_awaited) invocation.data_awaited = parts_.clock.now();
    // It is on its way; the call is tried again until then.
    data = fail(ErrorCode::unreachable, "it waits for " + (*data)->waits_for);
  }
  // One from before the last start has its data where an executor may still be on its way back.
  const bool is_restored = invocation.data == nullptr;
  const bool may_come = data.error().code == ErrorCode::unreachable ||
                        (is_restored && data.error().code == ErrorCode::not_found &&
                         parts_.clock.now() < data_returns_by_);
  CallResult result{.outcome = may_come ? Outcome::no_capacity : Outcome::bad_request,
                    .refused = data.error().code,
                    .message = std::move(data.error().message),
                    .attempt = record.attempts};
  // Not from within: the next one would be started deeper and deeper in the stack.
  parts_.control([this, id = record.id, result = std::move(result)]() mutable {
    ended(id, std::move(result));
  });
  return false;
}

void AsyncInvocations::end_transfer(BookedInvocation& invocation) {
  if (!invocation.data_awaited) return;
  invocation.transfer += std::chrono::duration_cast<std::chrono::microseconds>(
      parts_.clock.now() - *std::exchange(invocation.data_awaited, std::nullopt));
}

/// What its runner has told is of the last attempt, from when it had it; before that it stood in
/// line here.
void AsyncInvocations::add_waits(BookedInvocation& invocation, CallTimings& timings) {
  end_transfer(invocation);
  timings.transfer += invocation.transfer;
  if (invocation.queued)
    timings.queue +=
        std::max(std::chrono::microseconds(*invocation.queued) - invocation.transfer, {});
}

}  // namespace orchid::gateway
