// invocations/async_running.cpp: what only the runner's thread knows of a call that runs: how far
// it is, and what it has logged.
#include <utility>

#include "foundation/files.h"
#include "invocations/async_invocations.h"

namespace orchid::gateway {

void AsyncInvocations::view_running(const BookedInvocation& invocation, ViewDone done) {
  InvocationView view{.record = invocation.record, .synchronous = false};
  if (invocation.state != InvocationState::running || draining_ || stopped_)
    return done(std::optional(std::move(view)));
  const RunnerPort& port = parts_.runners[invocation.runner];
  port.post(
      [runner = port.runner, view = std::move(view),
       back = on_thread<std::optional<InvocationView>>(parts_.control, std::move(done))]() mutable {
        view.progress = runner->running_progress(view.record.id);
        back(std::optional(std::move(view)));
      });
}

void AsyncInvocations::log(const InvocationRecord& record, Completion<InvocationLog> done) {
  owner_.assert_current();
  if (const BookedInvocation* invocation = book_.find(record.id); invocation != nullptr) {
    if (invocation->state != InvocationState::running) return done(InvocationLog{});
    const RunnerPort& port = parts_.runners[invocation->runner];
    port.post([runner = port.runner, control = parts_.control, id = record.id, done] {
      control([done, log = runner->running_log(id)]() mutable {
        done(InvocationLog{.text = std::move(log.text), .dropped = log.dropped});
      });
    });
    return;
  }
  parts_.store.read_payload(
      record.id, PayloadKind::log,
      on_thread<std::vector<std::byte>>(
          parts_.control, [done = std::move(done),
                           dropped = record.log_dropped](Result<std::vector<std::byte>> content) {
            if (!content) return done(fail(std::move(content.error())));
            done(InvocationLog{
                .text = std::string(as_text(*content)), .dropped = dropped, .complete = true});
          }));
}

}  // namespace orchid::gateway
