// benchmarks/empty_server.h: an HTTP server of Beast that answers 200 to everything and does
// nothing else: what HTTP itself costs.
#pragma once
namespace orchid::bench {

/// Serves on 127.0.0.1 and a port of the kernel's, which it writes to `ready_fd` as text, on one
/// thread, until the process is killed.
[[noreturn]] void serve_empty(int ready_fd);

}  // namespace orchid::bench
