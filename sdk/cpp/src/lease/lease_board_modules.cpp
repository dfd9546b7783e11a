// Leases of separate processes: which module a worker gets next.
#include <algorithm>

#include "lease/lease_board.h"

namespace orchid::sdk {
namespace {

/// A call that has waited so long gets a worker before those behind it, also when other workers
/// have its module: some five times what a fresh worker takes.
constexpr std::chrono::milliseconds longest_turn{20};

}  // namespace

void LeaseBoard::seat(const WorkerLane& lane, const LeaseCode* module) {
  const std::lock_guard lock(mutex_);
  seats_.seat(&lane, module == nullptr ? ModuleSeats::Module() : module->number,
              ModuleSeats::State::loaded);
  count_loads();
}

void LeaseBoard::leave_seat(const WorkerLane& lane) {
  const std::lock_guard lock(mutex_);
  seats_.leave(&lane);
  count_loads();
}

/// Under the lock.
void LeaseBoard::count_loads() {
  if (!options_.separate_processes) return;
  loads_wanted_.store(static_cast<unsigned>(std::ranges::count_if(codes_, [&](const auto& code) {
    return !code->loaded && !code->rejected && seats_.coming(code->number) == 0;
  })));
}

/// Somebody waits until a worker has loaded it once; null: nobody, or that is for another worker.
/// Under the lock.
LeaseCode* LeaseBoard::module_to_load(const LeaseCode* has) const {
  if (loads_wanted() == 0 || (has != nullptr && seats_.free() > 0)) return nullptr;
  const auto found = std::ranges::find_if(codes_, [&](const auto& code) {
    return !code->loaded && !code->rejected && seats_.coming(code->number) == 0;
  });
  return found == codes_.end() ? nullptr : found->get();
}

/// Of a call whose module the worker has not. `waiting`: such calls so far, by module. `wanted`:
/// the first module that the worker may take. Under the lock.
Turn LeaseBoard::turn_of_other(const DirectCall& call, const LeaseCode* has,
                               std::vector<int>& waiting, MonotonicTime now,
                               LeaseCode*& wanted) const {
  const unsigned number = call.code->number;
  const auto its = has == nullptr ? ModuleSeats::Module() : has->number;
  if (!seats_.may_take(its, number, ++waiting[number])) return Turn::never;
  const bool has_waited = now - (call.due - call.deadline) >= longest_turn;
  const bool is_here = seats_.seated(number) > 0;
  if (has != nullptr && is_here && !has_waited) return Turn::never;
  if (wanted == nullptr) wanted = call.code;
  return has_waited ? Turn::when_idle : Turn::never;
}

void LeaseBoard::count_compiling(LeaseCode& code, bool waits) {
  const std::lock_guard lock(mutex_);
  if (!waits)
    --code.compiling;
  else if (code.compiling++ == 0)
    code.compiling_since = std::chrono::steady_clock::now();
}

void LeaseBoard::count_ready(LeaseCode& code, bool is_ready) {
  const std::lock_guard lock(mutex_);
  is_ready ? ++code.ready : --code.ready;
}

}  // namespace orchid::sdk
