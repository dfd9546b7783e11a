// jit/retarget.h: frees a module from the machine that it was built for, and gives it to this host.
#pragma once
#include <llvm/IR/Module.h>

#include "jit/host_target.h"

namespace orchid::executor {

/// Compilers write "target-cpu"="x86-64" on every function, which would override the host's CPU: no
/// AVX. Besides, every stack frame probes its pages, so that an overflow always meets the guard
/// page, and every function can be unwound. Only entries and effects stay
/// visible.
void retarget(llvm::Module& code, const HostTarget& host);

}  // namespace orchid::executor
