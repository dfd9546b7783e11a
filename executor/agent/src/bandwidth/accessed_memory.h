// bandwidth/accessed_memory.h: how much memory a process touches, by the accessed bits of its page
// tables: what there is where no hardware counter may be read (docs/decisions/0016).
#pragma once
#include <sys/types.h>

#include <chrono>

#include "foundation/result.h"
#include "foundation/unique_fd.h"
#include "foundation/units.h"

namespace orchid::executor {

/// Of one process of ours. Walks its page tables: about 20 us for each MiB that is resident, each
/// time. The process must have no transparent huge pages: their entries stay in the TLB, and the
/// bits are not set again then. One thread at a time.
class AccessedMemory {
 public:
  /// The process must be alive and a child of ours, so that its number is its own. Errors:
  /// `system`, also where the kernel or the sandbox hides it.
  [[nodiscard]] static Result<AccessedMemory> of(pid_t pid);
  /// Nothing counts as touched from now on. Errors: `system`; the process has ended, too.
  [[nodiscard]] Result<void> clear() const;
  /// In whole pages, each once, since `clear`. Errors: as of `clear`.
  [[nodiscard]] Result<ByteCount> touched() const;

 private:
  explicit AccessedMemory(UniqueFd directory) : directory_(std::move(directory)) {}
  UniqueFd directory_;  // its /proc/PID, which is never another's
};

/// Whether this kernel tells accesses of this very process. Errors: `system`, with the reason.
[[nodiscard]] Result<void> check_accessed_memory();

/// What the first access to each page takes longer after `clear`: the processor writes the bit,
/// some 0.2 us, about as long as it takes to stream through the page. Measured on 32 MiB of this
/// process; 0 where it cannot be. Takes some 20 ms.
[[nodiscard]] std::chrono::nanoseconds cost_of_a_touch();

/// For this process and all that it starts: no transparent huge pages. Errors: `system`.
[[nodiscard]] Result<void> give_up_huge_pages();

}  // namespace orchid::executor
