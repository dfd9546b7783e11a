#include "dispatcher/dispatch_deadlines.h"

namespace orchid::gateway {

void DispatchDeadlines::insert(DispatchCall& call, MonotonicTime due) {
  call.due = due;
  heap_.push_back(&call);
  call.heap_place = heap_.size() - 1;
  settle(call.heap_place);
}

void DispatchDeadlines::move(DispatchCall& call, MonotonicTime due) {
  call.due = due;
  settle(call.heap_place);
}

void DispatchDeadlines::remove(DispatchCall& call) {
  const std::size_t place = call.heap_place;
  DispatchCall* last = heap_.back();
  heap_.pop_back();
  if (last == &call) return;
  put(place, last);
  settle(place);
}

void DispatchDeadlines::settle(std::size_t place) {
  DispatchCall* call = heap_[place];
  while (place > 0 && call->due < heap_[(place - 1) / 2]->due) {
    put(place, heap_[(place - 1) / 2]);
    place = (place - 1) / 2;
  }
  for (std::size_t child = 2 * place + 1; child < heap_.size(); child = 2 * place + 1) {
    if (child + 1 < heap_.size() && heap_[child + 1]->due < heap_[child]->due) ++child;
    if (call->due <= heap_[child]->due) break;
    put(place, heap_[child]);
    place = child;
  }
  put(place, call);
}

}  // namespace orchid::gateway
