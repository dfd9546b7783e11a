// worker/status_page.h: the page through which a worker and its executor's agent see each other
// without a message.
//
// The agent maps it and does not trust it: a wrong value can only cost the worker that wrote it.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace orchid::executor {

/// Low two bits of StatusPage::state; the rest is the number of the call in this worker.
enum class RunState : std::uint64_t {
  idle = 0,
  running = 1,
  killed = 2,
  /// The function has returned, and its outcome is the worker's to tell; what it has made is being
  /// published first.
  ending = 3,
};
/// It is at a call, which has no answer yet.
[[nodiscard]] constexpr bool is_in_call(RunState state) {
  return state == RunState::running || state == RunState::ending;
}

/// Why a worker ended by itself; written just before.
enum class LastWords : std::uint32_t {
  none = 0,
  signal = 1,   // code: its number; address and place: where
  exited = 2,   // code: the status that the function gave to exit()
  spoiled = 3,  // the call was answered; `place` says what could not be restored
  failed = 4,   // the worker's own fault; `place` says why
};

/// Resources that were refused to the running call: they explain the crash that often follows.
constexpr std::uint32_t refused_memory = 1;
constexpr std::uint32_t refused_output = 2;
constexpr std::uint32_t refused_device = 4;  // memory of a device

struct StatusPage {
  // Written by the worker at each call: one cache line.
  alignas(64) std::atomic<std::uint64_t> state;  // call number << 2 | RunState
  std::atomic<std::uint64_t> request_id;         // in the lane
  std::atomic<std::uint64_t> started_ticks;
  std::atomic<std::uint64_t> deadline_ns;  // after the start; 0: none
  std::atomic<std::uint64_t> calls;        // finished ones
  std::atomic<std::uint32_t> slot;         // of the module that runs, or ran last
  /// Number of the call that uses the worker's GPU, from its first command until it is over.
  std::atomic<std::uint64_t> device_call;
  // Written by the agent.
  alignas(
      64) std::atomic<std::uint64_t> stop;  // number of the call that should stop; all ones: none
  std::atomic<std::uint32_t> attention;     // grows with each control message
  /// Of the worker at a device process, which begins anew with each; 0: it has none.
  std::atomic<std::uint64_t> device_seat;
  // Written at the end.
  alignas(64) std::atomic<std::uint32_t> last_words;
  std::atomic<std::uint32_t> refused;
  std::atomic<std::int32_t> code;
  std::atomic<std::uint32_t> stack_overflow;
  std::atomic<std::uint32_t> sent;  // 1: a process sent the signal; it was no fault
  std::atomic<std::uint64_t> address;
  char place[256];
};
static_assert(sizeof(StatusPage) <= 4096);
constexpr std::size_t status_page_bytes = 4096;
constexpr std::uint64_t no_stop = ~std::uint64_t{0};
constexpr std::uint64_t no_device_seat = 0;

[[nodiscard]] constexpr std::uint64_t pack_state(std::uint64_t call, RunState state) {
  return call << 2 | static_cast<std::uint64_t>(state);
}
[[nodiscard]] constexpr RunState run_state_of(std::uint64_t word) {
  return static_cast<RunState>(word & 3);
}
[[nodiscard]] constexpr std::uint64_t call_of(std::uint64_t word) { return word >> 2; }

}  // namespace orchid::executor
