// orchid-compiler: LLVM in a sandbox of its own. See docs/PROTOCOL.md §6.
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string_view>

#include "compile_server.h"
#include "foundation/log.h"
#include "foundation/numbers.h"
#include "inspect_server.h"

namespace {

constexpr std::string_view usage =
    "usage: orchid-compiler --inspect FILE        print what a module offers and needs, as JSON\n"
    "       orchid-compiler --ptx FILE GPU        print the kernels of its image for GPUs as PTX\n"
    "       orchid-compiler --serve FD            compile modules for the executor (FD: a packet "
    "socket)\n"
    "       orchid-compiler --inspect-server FD   inspect modules for the gateway\n"
    "example: orchid-compiler --inspect saxpy.orc\n";

std::optional<int> parse_descriptor(std::string_view text) {
  const auto fd = orchid::parse_number<int>(text);
  // 0 to 2 are taken; a wrong number would confine the process to nothing.
  if (!fd || *fd < 3) return std::nullopt;
  return fd;
}

}  // namespace

int main(int argc, char** argv) {
  const int parent_pid = ::getppid();
  orchid::log::configure("orchid-compiler", orchid::LogLevel::info);
  std::signal(SIGPIPE, SIG_IGN);
  constexpr int wrong_usage = 2;
  if (argc == 2 && std::string_view(argv[1]) == "--help") {
    fmt::print("{}", usage);
    return 0;
  }
  if (argc == 2 && std::string_view(argv[1]) == "--version") {
    fmt::print("orchid-compiler {}\n", ORCHID_VERSION);
    return 0;
  }
  if (argc == 3) {
    const std::string_view mode = argv[1];
    if (mode == "--inspect") return orchid::executor::inspect_file(argv[2]);
    const auto socket = parse_descriptor(argv[2]);
    // Without LLVM's clean-up at exit, which a confined process has no use for.
    if (socket && mode == "--serve")
      ::_exit(orchid::executor::run_compile_server(*socket, parent_pid));
    if (socket && mode == "--inspect-server")
      return orchid::executor::run_inspect_server(*socket, parent_pid);
  }
  if (argc == 4 && std::string_view(argv[1]) == "--ptx")
    return orchid::executor::print_ptx(argv[2], argv[3]);
  fmt::print(stderr, "{}", usage);
  return wrong_usage;
}
