// orchid-dispatch: stands between a gateway, which does not speak UCX, and workers of other hosts,
// so that HTTP calls can run there. One for each tenant; started by orchid-gateway only.
//
// Threads: the main one accepts connections of the gateway at the socket that it was started with;
// each connection, which stands for one worker, has a thread that owns everything of it.
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

#include "foundation/files.h"
#include "foundation/log.h"
#include "foundation/numbers.h"
#include "sandbox/confinement.h"
#include "src/relay.h"

namespace orchid::dispatch {
namespace {

constexpr int most_workers = 4096;

void serve(UniqueFd connection, UcxContexts& ucx, const TickRate& rate, std::atomic<int>& workers) {
  const Failure end = Relay(std::move(connection), ucx, rate).run();
  log::info("event=worker_gone reason=\"{}\"", end.message);
  --workers;
}

/// For a tenant who is not the gateway's own user: whoever takes this process over, as the code at
/// the other end of a lane might, is not that user. TLS and the resolver look at the system's
/// files.
Result<void> confine_this_process() {
  constexpr ByteCount lanes{1ULL << 40};  // its slabs are as many as its workers
  return confine({.role = SandboxRole::dispatch,
                  .data_limit = lanes,
                  .parent_pid = ::getppid(),
                  .keep_descriptors = open_descriptors(),
                  .readable_paths = {"/usr", "/lib", "/lib64", "/etc/ssl"}});
}

int run(int listener, bool confined) {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() == 1) return 1;
  std::signal(SIGPIPE, SIG_IGN);
  auto ucx = UcxContexts::create();
  if (!ucx) {
    log::error("event=cannot_start reason=\"{}\"", ucx.error().message);
    return 3;
  }
  if (confined)
    if (auto done = confine_this_process(); !done) {
      log::error("event=cannot_start reason=\"{}\"", done.error().message);
      return 3;
    }
  const TickRate rate = TickRate::measure();
  std::atomic<int> workers{0};
  while (true) {
    pollfd wait{listener, POLLIN, 0};
    if (::poll(&wait, 1, -1) < 0 && errno != EINTR) return 3;
    UniqueFd connection(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!connection) continue;
    const auto peer = peer_credentials(connection.get());
    if (!peer || peer->uid != ::geteuid() || workers >= most_workers) continue;
    ++workers;
    // Ends with its connection; the process outlives it, or ends it by ending.
    std::thread(serve, std::move(connection), std::ref(*ucx), std::cref(rate), std::ref(workers))
        .detach();
  }
}

}  // namespace
}  // namespace orchid::dispatch

int main(int argc, char** argv) {
  using namespace orchid;
  log::configure("orchid-dispatch", LogLevel::info);
  const bool confined = argc == 4 && std::string_view(argv[3]) == "--confined";
  if ((argc != 3 && !confined) || std::string_view(argv[1]) != "--listen") {
    std::fputs(
        "orchid-gateway starts this program: orchid-dispatch --listen DESCRIPTOR [--confined]\n",
        stderr);
    return 2;
  }
  const auto listener = parse_number<int>(argv[2]);
  if (!listener || *listener < 0) {
    std::fprintf(stderr, "orchid-dispatch: --listen '%s' is not the number of a socket\n", argv[2]);
    return 2;
  }
  // Read by UCX when it is mapped; there is one thread yet.
  for (const auto& [name, value] :
       {std::pair{"UCX_MEM_EVENTS", "n"}, std::pair{"UCX_ERROR_SIGNALS", ""},
        std::pair{"UCX_HANDLE_ERRORS", "none"}, std::pair{"UCX_LOG_LEVEL", "fatal"}})
    ::setenv(name, value, 1);
  return dispatch::run(*listener, confined);
}
