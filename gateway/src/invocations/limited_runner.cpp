#include "invocations/limited_runner.h"

#include <utility>
#include <vector>

namespace orchid::gateway {

void LimitedRunner::start(Call call, CallDone done) {
  const std::shared_ptr<ConcurrencyGate> gate = call.version->gate;
  if (stopped_ || call.place != nullptr || gate == nullptr || gate->limit() == 0)
    return runner().start(std::move(call), std::move(done));
  // Admission may be posted before the call is in the table; it runs after.
  auto entered =
      gate->enter(ConcurrencyGate::Kind::synchronous,
                  [this, here = here_, invocation = call.invocation](ConcurrencyGate::Place place) {
                    here([this, invocation, place = std::move(place)]() mutable {
                      admitted(invocation, std::move(place));
                    });
                  });
  if (entered.place != nullptr) {
    call.place = std::move(entered.place);
    return runner().start(std::move(call), std::move(done));
  }
  std::string invocation = call.invocation;
  waiting_.insert_or_assign(std::move(invocation),
                            Waiting{std::move(call), std::move(done), entered.ticket});
}

void LimitedRunner::admitted(const std::string& invocation, ConcurrencyGate::Place place) {
  auto found = waiting_.extract(invocation);
  if (found.empty()) return;  // it has ended meanwhile: the place goes to the next
  Waiting& waiting = found.mapped();
  waiting.call.place = std::move(place);
  runner().start(std::move(waiting.call), std::move(waiting.done));
}

void LimitedRunner::cancel(const std::string& invocation) {
  if (!waiting_.contains(invocation)) return runner().cancel(invocation);
  end(invocation, Outcome::cancelled, "cancelled while it waited");
}

void LimitedRunner::end(const std::string& invocation, Outcome outcome, std::string message) {
  auto found = waiting_.extract(invocation);
  if (found.empty()) return;
  Waiting& waiting = found.mapped();
  waiting.call.version->gate->withdraw(waiting.ticket);
  waiting.call.version->calls.add(outcome);
  CallResult result;
  result.outcome = outcome;
  result.message = std::move(message);
  result.timings.queue =
      std::chrono::duration_cast<std::chrono::microseconds>(clock_.now() - waiting.call.accepted);
  waiting.done(std::move(result));
}

void LimitedRunner::sweep() {
  const MonotonicTime now = clock_.now();
  std::vector<std::string> late;
  for (const auto& [invocation, waiting] : waiting_)
    if (waiting.call.deadline <= now) late.push_back(invocation);
  for (const std::string& invocation : late)
    end(invocation, Outcome::deadline_exceeded,
        "the deadline passed while it waited: the function has as many calls running as its "
        "concurrency limit allows");
}

void LimitedRunner::stop() {
  stopped_ = true;
  while (!waiting_.empty()) {
    const std::string invocation = waiting_.begin()->first;
    end(invocation, Outcome::cancelled, "the gateway is stopping");
  }
}

}  // namespace orchid::gateway
