#include "lease/call_batch.h"

namespace orchid::sdk {

BatchCall& CallBatch::open(std::size_t index) {
  if (free_.empty()) {
    free_.push_back(&calls_.emplace_back());
    free_.back()->batch = this;
  }
  BatchCall& call = *free_.back();
  free_.pop_back();
  call.index = index;
  call.place = open_.size();
  open_.push_back(&call);
  return call;
}

void CallBatch::close(BatchCall& call) {
  open_.back()->place = call.place;
  open_[call.place] = open_.back();
  open_.pop_back();
  call.begin_again();
  call.twin = nullptr;
  call.unwanted = false;
  call.since = MonotonicTime::min();
  free_.push_back(&call);
}

void CallBatch::keep_input(DirectCall& call) {
  auto& own_copy = static_cast<BatchCall&>(call).own_copy;
  if (!call.input.empty() && call.input.data() == own_copy.data()) return;
  own_copy.assign(call.input.begin(), call.input.end());
  call.input = own_copy;
}

void CallBatch::abandon(std::unique_ptr<CallBatch> batch) {
  CallBatch* const all = batch.release();
  all->abandoned_.store(all->open_.size() + 1);
  for (BatchCall* call : all->open_) {
    auto pending = DirectCall::State::pending;
    if (!call->state.compare_exchange_strong(pending, DirectCall::State::abandoned)) all->drop();
  }
  all->drop();
}

}  // namespace orchid::sdk
