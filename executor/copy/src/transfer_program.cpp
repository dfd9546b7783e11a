#include "transfer_program.h"

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include "foundation/log.h"
#include "foundation/numbers.h"

namespace orchid::executor {
namespace {

constexpr int wrong_usage = 2;
/// 0 to 2 are taken.
constexpr int first_descriptor = 3;

}  // namespace

int run_transfer_program(const char* name, int argc, char** argv,
                         int (*serve)(int control, int parent_pid)) {
  const int parent_pid = ::getppid();
  log::configure(name, LogLevel::info);
  std::signal(SIGPIPE, SIG_IGN);
  const auto socket = argc == 3 && std::string_view(argv[1]) == "--serve"
                          ? parse_number<int>(argv[2])
                          : std::nullopt;
  if (!socket || *socket < first_descriptor) {
    std::fprintf(stderr, "orchid-executor starts this program: %s --serve DESCRIPTOR\n", name);
    return wrong_usage;
  }
  // Read by UCX when it is mapped; there is one thread yet.
  for (const auto& [variable, value] :
       {std::pair{"UCX_MEM_EVENTS", "n"}, std::pair{"UCX_ERROR_SIGNALS", ""},
        std::pair{"UCX_HANDLE_ERRORS", "none"}, std::pair{"UCX_LOG_LEVEL", "fatal"}})
    ::setenv(variable, value, 1);
  // Without UCX's clean-up, which closes what may not be closed any more.
  ::_exit(serve(*socket, parent_pid));
}

}  // namespace orchid::executor
