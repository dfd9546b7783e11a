// orchid-worker: the zygote, and each worker forked from it. Started by orchid-executor only.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "fabric_report.h"
#include "foundation/log.h"
#include "foundation/numbers.h"
#include "zygote.h"

namespace {

/// Read by UCX when it is mapped. The crash reports are ours, and so is the allocator.
void tame_ucx() {
  for (const auto& [name, value] :
       {std::pair{"UCX_MEM_EVENTS", "n"}, std::pair{"UCX_ERROR_SIGNALS", ""},
        std::pair{"UCX_HANDLE_ERRORS", "none"}, std::pair{"UCX_LOG_LEVEL", "fatal"}})
    ::setenv(name, value, 1);
}

}  // namespace

int main(int argc, char** argv) {
  ::clearenv();  // what was for the C library; functions have no environment
  orchid::log::configure("orchid-worker", orchid::LogLevel::info);
  orchid::executor::ZygoteOptions options;
  const std::string_view task = argc >= 3 ? argv[1] : "";
  if (task == "--zygote" || task == "--probe-fabric")
    options.control = orchid::parse_number<int>(argv[2]).value_or(-1);
  if (options.control < 0) {
    std::fputs("orchid-worker is started by orchid-executor, with --zygote and a socket's number\n",
               stderr);
    return 2;
  }
  options.remote = argc == 4 && std::string_view(argv[3]) == "--remote";
  if (options.remote || task == "--probe-fabric") tame_ucx();
  if (task == "--probe-fabric") return orchid::executor::report_fabric(options.control);
  return orchid::executor::run_zygote(options);
}
