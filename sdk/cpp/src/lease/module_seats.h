// lease/module_seats.h: in a lease of separate processes, which worker has which module, and which
// one a worker that has no calls may take. Plain decisions over plain data: no lock, no clock.
#pragma once
#include <map>
#include <optional>
#include <vector>

namespace orchid::sdk {

/// Guarded by its owner. Modules are known by their numbers, which are counted from 0; workers by
/// where their lanes are.
class ModuleSeats {
 public:
  using Module = std::optional<unsigned>;  // nothing: none
  enum class State { coming, loaded };     // of a worker's module

  /// That worker is there, with this module.
  void seat(const void* lane, Module module, State state) {
    leave(lane);
    seats_.emplace(lane, Seat{module, state});
    count(module, state, 1);
  }
  /// It is not there any more, or not yet.
  void leave(const void* lane) {
    const auto seat = seats_.extract(lane);
    if (!seat.empty()) count(seat.mapped().module, seat.mapped().state, -1);
  }
  /// Workers without a module.
  [[nodiscard]] int free() const { return free_; }
  /// Workers that have that module or are about to; and the latter alone.
  [[nodiscard]] int seated(unsigned module) const { return counts_of(module).seated; }
  [[nodiscard]] int coming(unsigned module) const { return counts_of(module).coming; }
  /// Whether an idle worker that has `has` may take `wanted` for the `nth` call that waits for it,
  /// counted from 1. One without a module takes it at once. One that has another module leaves it
  /// to those without, and to one that is on its way to it.
  [[nodiscard]] bool may_take(Module has, unsigned wanted, int nth) const {
    if (!has) return nth > coming(wanted);
    return free_ == 0 && coming(wanted) == 0;
  }

 private:
  struct Seat {
    Module module;
    State state = State::coming;
  };
  struct Counts {
    int seated = 0;
    int coming = 0;
  };
  [[nodiscard]] Counts counts_of(unsigned module) const {
    return module < counts_.size() ? counts_[module] : Counts{};
  }
  void count(Module module, State state, int more) {
    if (!module) {
      free_ += more;
      return;
    }
    if (*module >= counts_.size()) counts_.resize(*module + 1);
    counts_[*module].seated += more;
    if (state == State::coming) counts_[*module].coming += more;
  }
  std::map<const void*, Seat> seats_;
  std::vector<Counts> counts_;
  int free_ = 0;
};

}  // namespace orchid::sdk
