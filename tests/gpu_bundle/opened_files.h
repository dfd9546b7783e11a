// opened_files.h: which files a program opens, as the kernel sees it (ptrace). It shows what a
// driver wants before the sandbox refuses it.
#pragma once
#include <chrono>
#include <string>
#include <vector>

#include "foundation/result.h"
#include "processes/program_start.h"

namespace orchid::gpu_check {

struct OpenedFile {
  std::string path;  // without symbolic links; of the program itself "/proc/self/…"
  bool for_writing = false;
};

/// Of all threads and children of the program, until it has ended; each once. No child of the
/// caller may run meanwhile. Errors: `system`: it cannot be watched here; `timed_out`,
/// `internal`: it has failed.
[[nodiscard]] Result<std::vector<OpenedFile>> files_opened_by(processes::ProgramStart program,
                                                              std::chrono::milliseconds longest);

}  // namespace orchid::gpu_check
