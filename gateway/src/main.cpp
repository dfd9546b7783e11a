// orchid-gateway: reads the configuration, builds the gateway, runs it until SIGTERM or SIGINT.
#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <variant>

#include "config/config.h"
#include "foundation/files.h"
#include "gateway.h"

namespace {

namespace log = orchid::log;
using orchid::gateway::Config;
using orchid::gateway::Gateway;
using orchid::gateway::PrintAndExit;

constexpr int exit_usage = 2;
constexpr int exit_failed = 3;

/// Each deployed version and each connection takes a descriptor.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0)
    log::warn("event=descriptor_limit reason=\"cannot raise it\"");
}

/// Before the first thread, so that all inherit it: the main thread alone takes these signals, with
/// sigwait.
sigset_t block_end_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  return signals;
}

void announce(const Config& config, const std::string& line) {
  // Clients on other hosts, which see the state directory but not the runtime directory, find the
  // addresses here.
  if (auto written =
          orchid::write_file_atomically(config.state / "gateway.json", orchid::as_bytes(line));
      !written)
    log::warn("event=addresses_not_written reason=\"{}\"", written.error().message);
  if (config.ready_fd < 0) return;
  const auto sent = ::write(config.ready_fd, line.data(), line.size());
  if (sent != static_cast<ssize_t>(line.size()))
    log::warn("event=ready_fd reason=\"cannot write to descriptor {}\"", config.ready_fd);
  ::close(config.ready_fd);
}

int run(const Config& config) {
  const sigset_t signals = block_end_signals();
  // Whoever waits for its end must not wait for our children too.
  if (config.ready_fd >= 0 && ::fcntl(config.ready_fd, F_SETFD, FD_CLOEXEC) != 0) {
    fmt::print(stderr, "orchid-gateway: --ready-fd: {} is not an open descriptor\n",
               config.ready_fd);
    return exit_usage;
  }
  raise_descriptor_limit();
  auto gateway = Gateway::create(config);
  if (!gateway) {
    fmt::print(stderr, "orchid-gateway: {}\n", gateway.error().message);
    return exit_failed;
  }
  (*gateway)->start();
  const std::string line = (*gateway)->announcement();
  log::info("event=started {}", line.substr(0, line.size() - 1));
  announce(config, line);
  int signal = 0;
  sigwait(&signals, &signal);
  log::info("event=stopping signal={}", signal == SIGINT ? "SIGINT" : "SIGTERM");
  // A second one ends the process at once.
  std::signal(SIGTERM, SIG_DFL);
  std::signal(SIGINT, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  (*gateway)->stop();
  std::error_code ignored;
  std::filesystem::remove(config.state / "gateway.json", ignored);
  log::info("event=stopped");
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  orchid::occupy_standard_descriptors();
  auto read = orchid::gateway::read_config(argc, argv);
  if (!read) {
    fmt::print(stderr, "orchid-gateway: {}\n", read.error().message);
    return exit_usage;
  }
  if (const auto* print = std::get_if<PrintAndExit>(&*read)) {
    fmt::print("{}", print->text);
    return print->status;
  }
  const Config& config = std::get<Config>(*read);
  log::configure("orchid-gateway", config.log_level);
  return run(config);
}
