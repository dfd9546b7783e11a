// worker/crash_report.h: what a worker still says when a signal ends it.
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "jit/linker.h"
#include "worker/status_page.h"

namespace orchid::executor {

/// The modules that a crash may lie in; read by the signal handler. Slots that hold nothing are
/// null.
using CodeMap = std::vector<std::unique_ptr<LinkedModule>>;

/// Installs handlers for SEGV, BUS, FPE, ILL, ABRT, TRAP and SYS on a stack of their own: they
/// write signal, address and function into the page, then let the signal end the process. `code`
/// must outlive the process's last instruction; it never reallocates.
void install_crash_handlers(StatusPage& page, const CodeMap& code);

/// For a further thread of the worker's own, first of all: its signal stack, which must outlive it,
/// and no signal blocked.
void use_signal_stack(std::span<std::byte> stack);

/// Puts handlers, mask and signal stack of the calling thread back to what install_crash_handlers
/// made of them.
void restore_signals();

}  // namespace orchid::executor
