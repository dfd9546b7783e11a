// devices/core_team.h: threads of the worker's own that help its one thread with a launch: one for
// each further core.
//
// They are made by the first launch that is worth it, and kept between launches and between calls.
// Members are born with the cores that the agent has bound the worker to, and the kernel spreads
// them: a confined worker can bind nothing (seccomp). Between launches they sleep.
#pragma once
#include <pthread.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "foundation/tick_clock.h"
#include "user_code/machine_state.h"

namespace orchid::executor {

/// Owned by the worker's thread, which calls everything here.
class CoreTeam {
 public:
  /// What is to be done, by several threads at once: each takes part until nothing is left to
  /// begin. Whatever is thrown ends the process.
  class Work {
   public:
    virtual ~Work() = default;
    virtual void take_part() noexcept = 0;
  };

  /// Counts towards the worker's memory limit, so it is small. A kernel's local memory lies on it.
  static constexpr std::size_t stack_bytes = std::size_t{256} * 1024;

  /// Members compute with the floating-point state of this moment.
  explicit CoreTeam(const TickRate& rate);
  ~CoreTeam() { disband(); }
  CoreTeam(const CoreTeam&) = delete;
  CoreTeam& operator=(const CoreTeam&) = delete;

  /// From now on there are `count` members, or as many as the kernel grants.
  void resize(unsigned count);
  [[nodiscard]] unsigned size() const { return static_cast<unsigned>(members_.size()); }
  /// Ends all members, and with them what work has changed of its thread: signals, locale.
  void disband();

  /// Members come to `work` as they wake, until `close`.
  void open(Work& work);
  /// No other member comes. Returns when those that came have gone.
  void close();

 private:
  struct Member {
    CoreTeam& team;
    pthread_t thread{};
    alignas(16) std::array<std::byte, std::size_t{32} * 1024> signal_stack{};
  };
  static void* start(void* member);
  void serve();
  [[nodiscard]] bool add_member();
  void await_round(std::uint32_t seen) const;
  [[nodiscard]] bool enter();
  void leave();

  static constexpr std::uint32_t open_bit = 1U << 31;

  FloatingPoint floating_point_;
  std::uint64_t spin_ticks_;
  std::vector<std::unique_ptr<Member>> members_;
  Work* work_ = nullptr;  // whoever has entered may read it
  // One line for what sleepers watch, another for what members write.
  alignas(64) std::atomic<std::uint32_t> round_{0};  // grows when there is something new
  std::atomic<bool> ends_{false};
  alignas(64) std::atomic<std::uint32_t> inside_{0};  // members at work, and whether it is open
};

}  // namespace orchid::executor
