// src/inspect_server.h: `orchid-compiler --inspect-server`: hands each module to a fresh process;
// never looks into one itself.
#pragma once
#include <filesystem>
#include <string_view>

namespace orchid::executor {

/// Answers on `socket` until the peer closes it. The process's exit status.
[[nodiscard]] int run_inspect_server(int socket, int parent_pid);

/// `orchid-compiler --inspect FILE`: prints the manifest, or the reasons on standard error. The
/// process's exit status.
[[nodiscard]] int inspect_file(const std::filesystem::path& path);

/// Writes the PTX of a module's image for nvptx64 to standard output, or the
/// reasons on standard error. The process's exit status.
[[nodiscard]] int print_ptx(const std::filesystem::path& module, std::string_view gpu);

}  // namespace orchid::executor
