// foundation/cpu_pause.h: a short rest for a thread that looks at memory which another core writes.
#pragma once

namespace orchid {

/// Some 10 to 50 ns in which the core leaves the other one's cache lines alone.
inline void cpu_pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

}  // namespace orchid
