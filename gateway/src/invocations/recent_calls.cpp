#include "invocations/recent_calls.h"

#include "invocations/invocation_id.h"

namespace orchid::gateway {

InvocationView view_of(const RecentCall& call) {
  InvocationView view;
  view.synchronous = true;
  InvocationRecord& record = view.record;
  record.id = format_invocation_id(call.number);
  record.tenant = call.tenant;
  record.function = call.function;
  record.digest = call.digest;
  record.entry = call.entry;
  record.accepted = call.accepted;
  record.deadline = call.deadline;
  record.state = StoredState::done;
  record.attempts = call.attempt;
  record.outcome = call.outcome;
  record.message = call.message;
  record.node = call.node;
  record.lease = call.lease;
  record.finished = call.finished;
  record.timings = call.timings;
  record.output_size = call.output_size;
  record.log_dropped = call.log_dropped;
  return view;
}

RecentCalls::RecentCalls(Options options) : options_(options), ring_(options.capacity) {}

void RecentCalls::drop_oldest() {
  RecentCall& oldest = ring_[first_];
  log_bytes_ -= oldest.log.size();
  oldest = {};
  first_ = (first_ + 1) % ring_.size();
  --count_;
}

void RecentCalls::add(RecentCall call) {
  while (count_ == ring_.size() ||
         (count_ > 0 && log_bytes_ + call.log.size() > options_.log_bytes.value))
    drop_oldest();
  log_bytes_ += call.log.size();
  ring_[(first_ + count_) % ring_.size()] = std::move(call);
  ++count_;
}

const RecentCall* RecentCalls::find(uid_t tenant, std::uint64_t number) const {
  for (std::size_t i = count_; i > 0; --i) {
    const RecentCall& call = ring_[(first_ + i - 1) % ring_.size()];
    if (call.number == number) return call.tenant == tenant ? &call : nullptr;
  }
  return nullptr;
}

std::vector<InvocationView> RecentCalls::list(uid_t tenant, std::size_t limit) const {
  std::vector<InvocationView> views;
  for (std::size_t i = count_; i > 0 && views.size() < limit; --i) {
    const RecentCall& call = ring_[(first_ + i - 1) % ring_.size()];
    if (call.tenant == tenant) views.push_back(view_of(call));
  }
  return views;
}

}  // namespace orchid::gateway
