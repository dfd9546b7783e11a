// orchid-device: the one process that speaks with a GPU's driver. Started by orchid-executor, and
// by orchid doctor to ask for the driver.
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <string_view>

#include "device_process.h"
#include "foundation/log.h"
#include "foundation/numbers.h"

namespace {

constexpr const char* usage =
    "usage: orchid-device --serve FD       serve a GPU for the executor (FD: a packet socket)\n"
    "       orchid-device --probe-driver   print which driver and GPUs there are, as JSON\n"
    "example: orchid-device --probe-driver\n";
constexpr int wrong_usage = 2;
/// 0 to 2 are taken.
constexpr int first_descriptor = 3;

}  // namespace

int main(int argc, char** argv) {
  const int parent_pid = ::getppid();
  orchid::log::configure("orchid-device", orchid::LogLevel::info);
  std::signal(SIGPIPE, SIG_IGN);
  const std::string_view mode = argc >= 2 ? argv[1] : "";
  if (argc == 2 && mode == "--help") {
    fmt::print("{}", usage);
    return 0;
  }
  if (argc == 2 && mode == "--version") {
    fmt::print("orchid-device {}\n", ORCHID_VERSION);
    return 0;
  }
  if (argc == 2 && mode == "--probe-driver") return orchid::executor::report_driver();
  // Without the clean-up of the driver's library, whose context may be broken.
  if (argc == 3 && mode == "--serve")
    if (const auto socket = orchid::parse_number<int>(argv[2]);
        socket && *socket >= first_descriptor)
      ::_exit(orchid::executor::run_device_process(*socket, parent_pid));
  fmt::print(stderr, "{}", usage);
  return wrong_usage;
}
