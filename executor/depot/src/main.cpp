// orchid-depot: answers what one tenant's workers ask during their calls. Started by
// orchid-executor.
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <string_view>

#include "depot_process.h"
#include "foundation/log.h"
#include "foundation/numbers.h"

namespace {

constexpr const char* usage =
    "usage: orchid-depot --serve FD   serve a tenant's workers for the executor (FD: a packet "
    "socket)\n";
constexpr int wrong_usage = 2;
/// 0 to 2 are taken.
constexpr int first_descriptor = 3;

}  // namespace

int main(int argc, char** argv) {
  const int parent_pid = ::getppid();
  orchid::log::configure("orchid-depot", orchid::LogLevel::info);
  std::signal(SIGPIPE, SIG_IGN);
  const std::string_view mode = argc >= 2 ? argv[1] : "";
  if (argc == 2 && mode == "--help") {
    fmt::print("{}", usage);
    return 0;
  }
  if (argc == 2 && mode == "--version") {
    fmt::print("orchid-depot {}\n", ORCHID_VERSION);
    return 0;
  }
  if (argc == 3 && mode == "--serve")
    if (const auto socket = orchid::parse_number<int>(argv[2]);
        socket && *socket >= first_descriptor)
      return orchid::executor::run_depot_process(*socket, parent_pid);
  fmt::print(stderr, "{}", usage);
  return wrong_usage;
}
