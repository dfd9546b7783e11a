// dispatcher/dispatch_deadlines.h: all live calls by the time at which something must be done
// about them.
#pragma once
#include <cstddef>
#include <vector>

#include "dispatcher/dispatch_call.h"
#include "foundation/clock.h"

namespace orchid::gateway {

/// A binary heap whose calls know their place in it. Most calls have the same deadline from now, so
/// entering one costs a comparison. Owned by its dispatcher; borrows the calls.
class DispatchDeadlines {
 public:
  void insert(DispatchCall& call, MonotonicTime due);
  void move(DispatchCall& call, MonotonicTime due);
  void remove(DispatchCall& call);
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] DispatchCall& earliest() const { return *heap_.front(); }

 private:
  void put(std::size_t place, DispatchCall* call) {
    heap_[place] = call;
    call->heap_place = place;
  }
  void settle(std::size_t place);
  std::vector<DispatchCall*> heap_;
};

}  // namespace orchid::gateway
