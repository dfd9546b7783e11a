// src/compile_server.h: `orchid-compiler --serve`: compiles modules of one tenant, one at a time,
// for as long as the requester lives.
#pragma once

namespace orchid::executor {

/// Loads LLVM, confines the process, then answers on `socket` until the peer closes it. The
/// process's exit status.
[[nodiscard]] int run_compile_server(int socket, int parent_pid);

}  // namespace orchid::executor
