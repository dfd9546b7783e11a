// harness/machine.h: where a benchmark runs: cores to pin to, and what other processes use.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "foundation/result.h"
#include "foundation/units.h"

namespace orchid::bench {

/// "Intel(R) Xeon(R) …, 2 of 2 cores, Linux 6.18, load 0.10".
[[nodiscard]] std::string describe_machine();

/// The cores of this process's affinity mask, ascending.
[[nodiscard]] std::vector<int> allowed_cores();
/// Binds the main thread of a process to one core. Errors: `system`.
[[nodiscard]] Result<void> pin(std::int64_t process, int core);
/// Binds the calling thread, and what it forks from now on, to one core. Errors: `system`.
[[nodiscard]] inline Result<void> pin_this_thread(int core) { return pin(0, core); }

/// User and system time that a process has used; of its ended children too when they were waited
/// for.
[[nodiscard]] Result<std::chrono::microseconds> cpu_time_of(pid_t process);
/// Proportional set size: what the process costs when shared pages are divided among those who
/// share.
[[nodiscard]] Result<ByteCount> proportional_memory_of(pid_t process);
/// `root` and all its descendants now.
[[nodiscard]] std::vector<pid_t> process_tree(pid_t root);

}  // namespace orchid::bench
