#include "crew/moved_call.h"

namespace orchid::bench {
namespace {

/// What a user would write; its table is what the worker has got as data.
int chase(MovedCall& call) {
  const auto& table = *static_cast<const ChaseTable*>(call.state);
  ChaseRequest request;
  if (call.input.size() != sizeof(request)) return 1;
  std::memcpy(&request, call.input.data(), sizeof(request));
  if (request.address >= table.size()) return 1;
  request.address = table.next(request.address);
  if (--request.left == 0)
    call.answer(&request, sizeof(request));
  else
    call.forward(ChaseTable::owner(request.address), chase_entry, &request, sizeof(request));
  return 0;
}

}  // namespace

LoadedModules::LoadedModules() {
  modules_[chase_slot].generation = chase_generation;
  modules_[chase_slot].entries[chase_entry] = chase;
}

}  // namespace orchid::bench
