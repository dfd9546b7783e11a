// orchid-copy: one end of one copy of a data object between two hosts. Started by orchid-executor
// only.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "copy_process.h"
#include "foundation/log.h"
#include "foundation/numbers.h"

namespace {

constexpr const char* usage =
    "orchid-executor starts this program: orchid-copy --serve DESCRIPTOR\n";
constexpr int wrong_usage = 2;
/// 0 to 2 are taken.
constexpr int first_descriptor = 3;

}  // namespace

int main(int argc, char** argv) {
  const int parent_pid = ::getppid();
  orchid::log::configure("orchid-copy", orchid::LogLevel::info);
  std::signal(SIGPIPE, SIG_IGN);
  const auto socket = argc == 3 && std::string_view(argv[1]) == "--serve"
                          ? orchid::parse_number<int>(argv[2])
                          : std::nullopt;
  if (!socket || *socket < first_descriptor) {
    std::fputs(usage, stderr);
    return wrong_usage;
  }
  // Read by UCX when it is mapped; there is one thread yet.
  for (const auto& [name, value] :
       {std::pair{"UCX_MEM_EVENTS", "n"}, std::pair{"UCX_ERROR_SIGNALS", ""},
        std::pair{"UCX_HANDLE_ERRORS", "none"}, std::pair{"UCX_LOG_LEVEL", "fatal"}})
    ::setenv(name, value, 1);
  // Without UCX's clean-up, which closes what may not be closed any more.
  ::_exit(orchid::executor::run_copy_process(*socket, parent_pid));
}
