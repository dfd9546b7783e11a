// foundation/child_setup.h: what a forked process does before it becomes another program.
#pragma once
#include <string>
#include <vector>

namespace orchid {

/// As execve and posix_spawn take them, with the null at the end; before the fork. They point into
/// `texts`.
[[nodiscard]] std::vector<char*> pointers_to(std::vector<std::string>& texts);

// Between fork and exec: system calls only.

/// All signals do what they usually do.
void default_signals();
void unblock_signals();
/// Standard input has ended.
void read_nothing();
/// When memory runs out, this process goes before others' programs. It may always offer itself.
void be_first_to_lose_memory();

}  // namespace orchid
