// child_setup.h: what a forked process does before it becomes another program. Between
// fork and exec: system calls only.
#pragma once

namespace orchid::processes {

/// Handlers of ours are gone, and SIGPIPE does what it usually does; with `ignored_too` all signals
/// do.
void reset_signals(bool ignored_too);
/// When memory runs out, this process goes before others' programs. It may always offer itself.
void be_first_to_lose_memory();

}  // namespace orchid::processes
