#include "crew/party_processes.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "foundation/numbers.h"
#include "foundation/unique_fd.h"
#include "harness/machine.h"

namespace orchid::bench {
namespace {

/// What is this process's alone.
double private_kib() {
  std::ifstream file("/proc/self/smaps_rollup");
  double sum = 0;
  for (std::string word; file >> word;)
    if (double kib = 0; word.starts_with("Private_") && file >> kib) sum += kib;
  return sum;
}

double descriptor_count() {
  double count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    ++count;
  return count - 1;  // the one that looks
}

Result<void> live(const PartyProcesses::Plan& plan, unsigned self, Board& board,
                  const PartyProcesses::Life& life) {
  if (plan.quiet) {
    const UniqueFd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    ::dup2(nowhere.get(), STDOUT_FILENO);
    ::dup2(nowhere.get(), STDERR_FILENO);
  }
  if (auto pinned = pin_this_thread(plan.cores[self % plan.cores.size()]); !pinned) return pinned;
  const auto keeper = parse_number<int>(plan.hosts.process(self % plan.host_count)).value_or(-1);
  const UniqueFd host(static_cast<int>(::syscall(SYS_pidfd_open, keeper, 0)));
  if (!host || ::setns(host.get(), CLONE_NEWNET | CLONE_NEWNS) != 0)
    return fail_errno("enter a network namespace");
  const auto figures = board.figures(self);
  const double memory_before = private_kib();
  const double began = milliseconds_now();
  auto party = UcxParty::open(
      {.transports = "tcp,self", .devices = "link0", .as_lanes = true, .wakes = true});
  if (!party) return fail(std::move(party.error()));
  figures[open_took] = milliseconds_now() - began;
  board.publish(self, (*party)->address());
  for (unsigned peer = 0; peer < plan.count; ++peer)
    if (auto there = board.of(peer); !there) return fail(std::move(there.error()));
  figures[wire_began] = milliseconds_now();
  if (auto wired = (*party)->wire(board, self, plan.count); !wired) return wired;
  figures[wire_ended] = milliseconds_now();
  figures[memory_kib] = private_kib() - memory_before;
  figures[descriptors] = descriptor_count();
  ++board.counter(self);
  life(**party, board, self);
  return {};
}

}  // namespace

double milliseconds_now() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

bool comes_true(const std::function<bool()>& condition, std::chrono::milliseconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

Result<PartyProcesses> PartyProcesses::start(const Plan& plan, const Life& life) {
  auto board = Board::create();
  if (!board) return fail(std::move(board.error()));
  PartyProcesses made(std::move(*board));
  for (unsigned self = 0; self < plan.count; ++self) {
    const pid_t pid = ::fork();
    if (pid < 0) return fail_errno("fork");
    if (pid == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (auto lived = live(plan, self, made.board_, life); !lived)
        std::fprintf(stderr, "member %u: %s\n", self, lived.error().message.c_str());
      ::_exit(1);
    }
    made.pids_.push_back(pid);
  }
  for (unsigned self = 0; self < plan.count; ++self)
    if (!comes_true([&] { return made.board_.counter(self) != 0 || made.end_of(self); },
                    Board::patience))
      return fail(ErrorCode::timed_out, "processes were not wired in time");
    else if (made.board_.counter(self) == 0)
      return fail(ErrorCode::unreachable, "a process has ended while it was wired");
  return made;
}

std::optional<int> PartyProcesses::end_of(unsigned process) {
  int status = 0;
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(pids_[process]), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      info.si_pid == 0)
    return std::nullopt;
  status = info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
  return status;
}

PartyProcesses::~PartyProcesses() {
  for (const pid_t pid : pids_) ::kill(pid, SIGKILL);
  for (const pid_t pid : pids_) ::waitpid(pid, nullptr, 0);
}

}  // namespace orchid::bench
