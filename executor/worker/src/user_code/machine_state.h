// worker/machine_state.h: what a call may leave behind in the processor's own registers, and the
// start of the thread's area. Read and put back without a system call.
//
// For aarch64 it is written after the manual and the ABI, and has run in an emulated machine only.
#pragma once
#include <sys/auxv.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace orchid::executor {

/// The ABI wants string instructions to count upwards; whatever copies memory relies on it.
inline void count_upwards() {
#if defined(__x86_64__)
  asm volatile("cld" ::: "cc");
#endif
}

/// How floating-point numbers are computed: rounding, what traps, what has happened so far, and on
/// x86 the stack of the old unit, which has to be empty wherever a function begins.
class FloatingPoint {
 public:
  /// As it is now is how each call finds it.
  FloatingPoint() : control_(read()) {}

  void restore() const {
    const Control now = read();
#if defined(__x86_64__)
    if (now.legacy != control_.legacy || (now.legacy_status & status_flags) != 0) {
      asm volatile("fnclex");  // or else the next instruction of that unit might trap
      asm volatile("fldcw %0" : : "m"(control_.legacy));
    }
    asm volatile("emms");  // marks all places of the stack as empty, whatever was in them
    if (now.vector != control_.vector) asm volatile("ldmxcsr %0" : : "m"(control_.vector));
#elif defined(__aarch64__)
    if (now.control != control_.control) asm volatile("msr fpcr, %0" : : "r"(control_.control));
    if (now.status != control_.status) asm volatile("msr fpsr, %0" : : "r"(control_.status));
#else
    (void)now;
#endif
  }

 private:
#if defined(__x86_64__)
  struct Control {
    std::uint32_t vector = 0;
    std::uint16_t legacy = 0;
    std::uint16_t legacy_status = 0;
  };
  static constexpr std::uint16_t status_flags = 0x00ff;  // exceptions, fault of the stack, summary
  [[nodiscard]] static Control read() {
    Control control;
    asm volatile("stmxcsr %0" : "=m"(control.vector));
    asm volatile("fnstcw %0" : "=m"(control.legacy));
    asm volatile("fnstsw %0" : "=a"(control.legacy_status));
    return control;
  }
#elif defined(__aarch64__)
  struct Control {
    std::uint64_t control = 0;
    std::uint64_t status = 0;
  };
  [[nodiscard]] static Control read() {
    Control control;
    asm volatile("mrs %0, fpcr" : "=r"(control.control));
    asm volatile("mrs %0, fpsr" : "=r"(control.status));
    return control;
  }
#else
  struct Control {};
  [[nodiscard]] static Control read() { return {}; }
#endif
  Control control_;
};

/// Flags that change what code after the call does: on x86 the direction and alignment checks.
inline void restore_flags() {
  count_upwards();
#if defined(__x86_64__)
  constexpr std::uint64_t checks_alignment = 1U << 18;
  const std::uint64_t flags = __builtin_ia32_readeflags_u64();
  if ((flags & checks_alignment) != 0) __builtin_ia32_writeeflags_u64(flags & ~checks_alignment);
#endif
}

/// The words at the start of the thread's area that the C library and compiled code find everything
/// else through: its own address, the table of thread-local blocks, and the two guards. None of
/// them changes while the thread lives.
class ThreadArea {
 public:
  ThreadArea() : base_(base()), words_(read()) {}

  /// Where they are not as they were they are put back, so that the process can still speak.
  [[nodiscard]] bool restore() const {
    if (base() != base_) return false;
    if (read() == words_) return true;
    write();
    return false;
  }

 private:
#if defined(__x86_64__)
  static constexpr std::size_t word_count = 5;
  // The offsets are the ABI's, as compilers know them: self, dtv, self, stack guard, pointer guard.
  [[nodiscard]] static std::array<std::uint64_t, word_count> read() {
    std::array<std::uint64_t, word_count> words{};
    asm volatile("movq %%fs:0x00, %0" : "=r"(words[0]));
    asm volatile("movq %%fs:0x08, %0" : "=r"(words[1]));
    asm volatile("movq %%fs:0x10, %0" : "=r"(words[2]));
    asm volatile("movq %%fs:0x28, %0" : "=r"(words[3]));
    asm volatile("movq %%fs:0x30, %0" : "=r"(words[4]));
    return words;
  }
  void write() const {
    asm volatile("movq %0, %%fs:0x00" : : "r"(words_[0]) : "memory");
    asm volatile("movq %0, %%fs:0x08" : : "r"(words_[1]) : "memory");
    asm volatile("movq %0, %%fs:0x10" : : "r"(words_[2]) : "memory");
    asm volatile("movq %0, %%fs:0x28" : : "r"(words_[3]) : "memory");
    asm volatile("movq %0, %%fs:0x30" : : "r"(words_[4]) : "memory");
  }
  /// Of the segment itself, which a function may move where the kernel lets programs do that.
  [[nodiscard]] static std::uint64_t base() {
    static const bool readable = (::getauxval(AT_HWCAP2) & 2) != 0;  // HWCAP2_FSGSBASE
    std::uint64_t address = 0;
    if (readable) asm volatile("rdfsbase %0" : "=r"(address));
    return address;
  }
#elif defined(__aarch64__)
  static constexpr std::size_t word_count = 1;  // dtv; the guards are not in the thread's area
  [[nodiscard]] static std::array<std::uint64_t, word_count> read() {
    return {*reinterpret_cast<const std::uint64_t*>(base())};
  }
  void write() const { *reinterpret_cast<std::uint64_t*>(base()) = words_[0]; }
  [[nodiscard]] static std::uint64_t base() {
    std::uint64_t address = 0;
    asm volatile("mrs %0, tpidr_el0" : "=r"(address));
    return address;
  }
#else
  static constexpr std::size_t word_count = 0;
  [[nodiscard]] static std::array<std::uint64_t, word_count> read() { return {}; }
  void write() const {}
  [[nodiscard]] static std::uint64_t base() { return 0; }
#endif
  std::uint64_t base_;
  std::array<std::uint64_t, word_count> words_;
};

}  // namespace orchid::executor
