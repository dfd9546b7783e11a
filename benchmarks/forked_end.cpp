#include "forked_end.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>

#include "harness/machine.h"

namespace orchid::bench {
namespace {

constexpr int patience_ms = 60'000;

[[noreturn]] void live(const ForkedEnd::Options& options, const ForkedEnd::Life& life, int report) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (options.core >= 0) (void)pin_this_thread(options.core);
  const auto done = life(report);
  if (!done) std::fprintf(stderr, "%s: %s\n", options.name.c_str(), done.error().message.c_str());
  ::_exit(done ? 0 : 1);
}

}  // namespace

Result<ForkedEnd> ForkedEnd::start(const Options& options, const Life& life) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return fail_errno("socketpair");
  UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  const pid_t process = ::fork();
  if (process < 0) return fail_errno("fork");
  if (process == 0) {
    ours.reset();
    live(options, life, theirs.get());
  }
  return ForkedEnd(process, std::move(ours));
}

ForkedEnd::~ForkedEnd() {
  if (process_ <= 0) return;
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
}

Result<std::string> ForkedEnd::hear() {
  pollfd wait{.fd = report_.get(), .events = POLLIN, .revents = 0};
  if (::poll(&wait, 1, patience_ms) == 0)
    return fail(ErrorCode::timed_out, "the other end says nothing");
  std::string text(512, '\0');
  const ssize_t size = ::recv(report_.get(), text.data(), text.size(), 0);
  if (size <= 0) return fail(ErrorCode::unreachable, "the other end has ended");
  text.resize(static_cast<std::size_t>(size));
  return text;
}

Result<void> say(int report, const std::string& text) {
  if (::send(report, text.data(), text.size(), MSG_NOSIGNAL) < 0) return fail_errno("send");
  return {};
}

}  // namespace orchid::bench
