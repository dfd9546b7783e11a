// The protocol of a local lane on a processor that lets memory be seen in another order than
// written: all orders that aarch64 may take are tried. There all cores see one memory, but a core
// may perform its accesses in any order that addresses, acquire, release and fences leave open.
#include "transport/lane_orders.h"

#include <doctest/doctest.h>

#include <array>
#include <functional>
#include <set>
#include <vector>

namespace orchid::transport {
namespace {

enum class Act { load, store, fence };
constexpr int nothing = -1;

/// One access of one thread. A load may be performed although it stands behind a branch, a store
/// (`if_register`, `if_value`) not before it is known that it will happen.
struct Step {
  Act act = Act::load;
  int place = 0;
  int value = 0;  // to store
  int into = 0;   // the register that a load fills
  int if_register = nothing;
  int if_value = 0;
  std::memory_order order = std::memory_order_relaxed;
};
using Thread = std::vector<Step>;

Step load(int into, int place, std::memory_order order = std::memory_order_relaxed) {
  return {.act = Act::load, .place = place, .into = into, .order = order};
}
Step store(int place, int value, std::memory_order order = std::memory_order_relaxed) {
  return {.act = Act::store, .place = place, .value = value, .order = order};
}
Step fence(std::memory_order order) { return {.act = Act::fence, .order = order}; }
Step when(int if_register, int if_value, Step step) {
  step.if_register = if_register;
  step.if_value = if_value;
  return step;
}

bool acquires(std::memory_order order) {
  return order == std::memory_order_acquire || order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst;
}
bool releases(std::memory_order order) {
  return order == std::memory_order_release || order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst;
}

bool fence_separates(const Step& between, const Step& first, const Step& second) {
  if (between.order == std::memory_order_seq_cst) return true;
  return (acquires(between.order) && first.act == Act::load) ||
         (releases(between.order) && second.act == Act::store);
}

/// Whether the thread has to perform its step `first` before its later step `second`.
bool is_ordered(const Thread& thread, std::size_t first, std::size_t second) {
  const Step& a = thread[first];
  const Step& b = thread[second];
  if (a.place == b.place) return true;
  if (a.act == Act::load && acquires(a.order)) return true;
  if (b.act == Act::store && releases(b.order)) return true;
  if (a.act == Act::load && b.act == Act::store && b.if_register == a.into) return true;
  for (std::size_t i = first + 1; i < second; ++i)
    if (thread[i].act == Act::fence && fence_separates(thread[i], a, b)) return true;
  return false;
}

struct State {
  std::array<int, 6> memory{};
  std::array<std::array<int, 6>, 2> registers{};
  std::array<unsigned, 2> done{};  // a bit for each step
  auto operator<=>(const State&) const = default;
};
using Program = std::array<Thread, 2>;

bool may_be_next(const Program& program, const State& state, std::size_t thread, std::size_t step) {
  if (program[thread][step].act == Act::fence || (state.done[thread] >> step & 1U) != 0)
    return false;
  for (std::size_t before = 0; before < step; ++before)
    if (program[thread][before].act != Act::fence && (state.done[thread] >> before & 1U) == 0 &&
        is_ordered(program[thread], before, step))
      return false;
  return true;
}

State after(const State& state, const Step& step, std::size_t thread, std::size_t number) {
  State next = state;
  next.done[thread] |= 1U << number;
  auto& registers = next.registers[thread];
  if (step.act == Act::load)
    registers[step.into] = next.memory[step.place];
  else if (step.if_register == nothing || registers[step.if_register] == step.if_value)
    next.memory[step.place] = step.value;
  return next;
}

/// Whether any order of the accesses ends in a state that is `bad`.
bool can_end_in(const Program& program, const std::function<bool(const State&)>& bad) {
  std::set<State> seen;
  std::vector<State> open{State{}};
  while (!open.empty()) {
    const State state = open.back();
    open.pop_back();
    if (!seen.insert(state).second) continue;
    bool is_end = true;
    for (std::size_t thread = 0; thread < 2; ++thread)
      for (std::size_t step = 0; step < program[thread].size(); ++step) {
        if (!may_be_next(program, state, thread, step)) continue;
        is_end = false;
        open.push_back(after(state, program[thread][step], thread, step));
      }
    if (is_end && bad(state)) return true;
  }
  return false;
}

constexpr std::size_t client = 0;
constexpr std::size_t worker = 1;

/// A ring of one entry, used twice: the client sends, waits for the answer, and sends again.
bool request_is_misread(const LaneOrders& orders) {
  enum { input, sequence, answer };
  const Program program{Thread{store(input, 1), store(sequence, 1, orders.publish),
                               load(0, answer, orders.see_published), when(0, 1, store(input, 2)),
                               when(0, 1, store(sequence, 2, orders.publish))},
                        Thread{load(0, sequence, orders.see_published), load(1, input),
                               when(0, 1, store(answer, 1, orders.publish)),
                               load(2, sequence, orders.see_published), load(3, input)}};
  return can_end_in(program, [](const State& end) {
    const auto& seen = end.registers[worker];
    return (seen[0] == 1 && seen[1] != 1) || (seen[2] == 2 && seen[3] != 2);
  });
}

/// One place of the response slab, used for two answers.
bool answer_is_misread(const LaneOrders& orders) {
  enum { output, first, mark };
  const Program program{Thread{load(0, first, orders.see_published), load(1, output),
                               when(0, 1, store(mark, 1, orders.release_answer))},
                        Thread{store(output, 1), store(first, 1, orders.publish),
                               load(0, mark, orders.see_released), when(0, 1, store(output, 2))}};
  return can_end_in(program, [](const State& end) {
    return end.registers[client][0] == 1 && end.registers[client][1] != 1;
  });
}

/// What the worker reads from a place after it has seen the mark. A processor keeps a store behind
/// the branch that wants the mark, as above; neither C++ nor a processor promises that of a load.
bool released_place_is_read_early(const LaneOrders& orders) {
  enum { left, mark };
  const Program program{Thread{store(left, 1), store(mark, 1, orders.release_answer)},
                        Thread{load(0, mark, orders.see_released), load(1, left)}};
  return can_end_in(program, [](const State& end) {
    return end.registers[worker][0] == 1 && end.registers[worker][1] != 1;
  });
}

/// The reader goes to sleep while the writer, having looked, does not wake it.
bool wake_is_missed(const LaneOrders& orders) {
  enum { sequence, sleeping };
  const Program program{Thread{store(sequence, 1, orders.publish), fence(orders.fence_before_look),
                               load(0, sleeping)},
                        Thread{store(sleeping, 1), fence(orders.fence_before_look),
                               load(0, sequence, orders.see_published)}};
  return can_end_in(program, [](const State& end) {
    return end.registers[client][0] == 0 && end.registers[worker][0] == 0;
  });
}

bool goes_wrong(const LaneOrders& orders) {
  return request_is_misread(orders) || answer_is_misread(orders) ||
         released_place_is_read_early(orders) || wake_is_missed(orders);
}

}  // namespace

TEST_CASE("the search finds what is known of two stores and two loads") {
  enum { data, flag };
  const auto stale = [](const State& end) {
    return end.registers[1][0] == 1 && end.registers[1][1] == 0;
  };
  using std::memory_order_acquire;
  using std::memory_order_relaxed;
  using std::memory_order_release;
  const auto message = [&](std::memory_order written, std::memory_order read) {
    return can_end_in({Thread{store(data, 1), store(flag, 1, written)},
                       Thread{load(0, flag, read), load(1, data)}},
                      stale);
  };
  CHECK(message(memory_order_relaxed, memory_order_acquire));
  CHECK(message(memory_order_release, memory_order_relaxed));
  CHECK_FALSE(message(memory_order_release, memory_order_acquire));
  CHECK_FALSE(can_end_in({Thread{store(data, 1), fence(memory_order_release), store(flag, 1)},
                          Thread{load(0, flag), fence(memory_order_acquire), load(1, data)}},
                         stale));
}

TEST_CASE("in no order that the processor may take is an entry misread or a wake missed") {
  CHECK_FALSE(request_is_misread(lane_orders));
  CHECK_FALSE(answer_is_misread(lane_orders));
  CHECK_FALSE(released_place_is_read_early(lane_orders));
  CHECK_FALSE(wake_is_missed(lane_orders));
}

TEST_CASE("each order of the lane is needed: with one of them weakened something goes wrong") {
  using std::memory_order_acq_rel;
  using std::memory_order_relaxed;
  const LaneOrders right;
  REQUIRE_FALSE(goes_wrong(right));
  LaneOrders orders = right;
  orders.publish = memory_order_relaxed;
  CHECK(request_is_misread(orders));
  orders = right;
  orders.see_published = memory_order_relaxed;
  CHECK(request_is_misread(orders));
  orders = right;
  orders.release_answer = memory_order_relaxed;
  CHECK(answer_is_misread(orders));
  orders = right;
  orders.see_released = memory_order_relaxed;
  CHECK(released_place_is_read_early(orders));
  orders = right;
  orders.fence_before_look = memory_order_acq_rel;
  CHECK(wake_is_missed(orders));
}

}  // namespace orchid::transport
