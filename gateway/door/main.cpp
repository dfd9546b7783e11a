// orchid-door: where clients reach a gateway over UCX, `ucx://host:port`; started by
// orchid-gateway only, which must not speak UCX.
//
// The process that accepts connections speaks no UCX either, and has one thread. Each client gets a
// process of its own, which is confined before it hears a byte of the client's token (src/guest.h).
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "foundation/files.h"
#include "foundation/log.h"
#include "foundation/numbers.h"
#include "src/reception.h"

namespace {

template <typename Number>
bool read_number(std::string_view text, Number& number) {
  const auto read = orchid::parse_number<Number>(text);
  number = read.value_or(number);
  return read.has_value();
}

}  // namespace

int main(int argc, char** argv) {
  using namespace orchid;
  occupy_standard_descriptors();
  log::configure("orchid-door", LogLevel::info);
  int listener = -1;
  door::ReceptionOptions options;
  const bool told = argc == 7 && std::string_view(argv[1]) == "--listen" &&
                    read_number(argv[2], listener) && std::string_view(argv[3]) == "--gateway" &&
                    std::string_view(argv[5]) == "--clients" &&
                    read_number(argv[6], options.clients) && options.clients > 0;
  if (!told) {
    std::fputs(
        "orchid-gateway starts this program: orchid-door --listen DESCRIPTOR --gateway SOCKET "
        "--clients NUMBER\n",
        stderr);
    return 2;
  }
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() == 1) return 1;
  std::signal(SIGPIPE, SIG_IGN);
  // Read by UCX when it is mapped; there is one thread, and it stays so.
  for (const auto& [name, value] :
       {std::pair{"UCX_MEM_EVENTS", "n"}, std::pair{"UCX_ERROR_SIGNALS", ""},
        std::pair{"UCX_HANDLE_ERRORS", "none"}, std::pair{"UCX_LOG_LEVEL", "fatal"}})
    ::setenv(name, value, 1);
  options.gateway = argv[4];
  const Failure end = door::Reception(listener, std::move(options)).run();
  log::error("event=ended reason=\"{}\"", end.message);
  return 3;
}
