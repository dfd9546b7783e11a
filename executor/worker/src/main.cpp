// orchid-worker: the zygote, and each worker forked from it. Started by orchid-executor only.
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "foundation/log.h"
#include "zygote.h"

int main(int argc, char** argv) {
  orchid::log::configure("orchid-worker", orchid::LogLevel::info);
  int control = -1;
  if (argc == 3 && std::string_view(argv[1]) == "--zygote")
    std::from_chars(argv[2], argv[2] + std::strlen(argv[2]), control);
  if (control < 0) {
    std::fputs("orchid-worker is started by orchid-executor, with --zygote and a socket's number\n",
               stderr);
    return 2;
  }
  return orchid::executor::run_zygote(control);
}
