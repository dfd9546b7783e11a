// worker/zygote.h: the process that workers are forked from: one thread, everything loaded and
// relocated, nothing of any tenant.
#pragma once
namespace orchid::executor {

struct ZygoteOptions {
  int control = -1;     // a packet socket to the agent
  bool remote = false;  // some workers will have clients of other hosts: UCX is mapped for them
};
/// Serves Birth requests until the agent closes the socket. Returns the exit status.
[[nodiscard]] int run_zygote(const ZygoteOptions& options);

}  // namespace orchid::executor
