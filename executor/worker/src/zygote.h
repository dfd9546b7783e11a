// worker/zygote.h: the process that workers are forked from: one thread, everything loaded and
// relocated, nothing of any tenant.
#pragma once
namespace orchid::executor {

/// Serves Birth requests on the packet socket until the agent closes it. Returns the exit status.
[[nodiscard]] int run_zygote(int control);

}  // namespace orchid::executor
