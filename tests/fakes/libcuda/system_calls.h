// system_calls.h: what NVIDIA's driver (580.159, seen with strace) asks of the kernel beside its
// devices, and gives up without, with error 304. A sandbox in which the fake works lets it do so.
#pragma once

namespace fake_cuda {

/// In cuInit: the range of its threads' priorities, and a name for each of them.
[[nodiscard]] bool can_initialise();
/// In cuCtxCreate: a socket at which other processes could ask for the context's memory.
[[nodiscard]] bool can_make_context();

}  // namespace fake_cuda
