#include "system_calls.h"

#include <fcntl.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <string>

namespace orchid {
namespace {

struct FilterDeleter {
  void operator()(void* filter) const { seccomp_release(filter); }
};
using Filter = std::unique_ptr<void, FilterDeleter>;

/// Computing, memory, threads, time, and talking over descriptors that exist.
constexpr std::array always{
    SCMP_SYS(read),
    SCMP_SYS(write),
    SCMP_SYS(readv),
    SCMP_SYS(writev),
    SCMP_SYS(pread64),
    SCMP_SYS(pwrite64),
    SCMP_SYS(lseek),
    SCMP_SYS(fstat),
    SCMP_SYS(getdents64),
    SCMP_SYS(getcwd),
    SCMP_SYS(munmap),
    SCMP_SYS(mremap),
    SCMP_SYS(madvise),
    SCMP_SYS(brk),
    SCMP_SYS(mincore),
    SCMP_SYS(futex),
    SCMP_SYS(futex_waitv),
    SCMP_SYS(set_robust_list),
    SCMP_SYS(get_robust_list),
    SCMP_SYS(rseq),
    SCMP_SYS(membarrier),
    SCMP_SYS(sched_yield),
    SCMP_SYS(sched_getaffinity),
    SCMP_SYS(getcpu),
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(sigaltstack),
    SCMP_SYS(rt_sigpending),
    SCMP_SYS(rt_sigtimedwait),
    SCMP_SYS(rt_sigsuspend),
    SCMP_SYS(pause),
    SCMP_SYS(clock_gettime),
    SCMP_SYS(clock_getres),
    SCMP_SYS(clock_nanosleep),
    SCMP_SYS(nanosleep),
    SCMP_SYS(gettimeofday),
    SCMP_SYS(time),
    SCMP_SYS(times),
    SCMP_SYS(getrusage),
    SCMP_SYS(sysinfo),
    SCMP_SYS(uname),
    SCMP_SYS(getrandom),
    SCMP_SYS(getpid),
    SCMP_SYS(getppid),
    SCMP_SYS(gettid),
    SCMP_SYS(getuid),
    SCMP_SYS(geteuid),
    SCMP_SYS(getgid),
    SCMP_SYS(getegid),
    SCMP_SYS(getgroups),
    SCMP_SYS(getpgrp),
    SCMP_SYS(getpgid),
    SCMP_SYS(getsid),
    SCMP_SYS(getpriority),
    SCMP_SYS(poll),
    SCMP_SYS(ppoll),
    SCMP_SYS(select),
    SCMP_SYS(pselect6),
    SCMP_SYS(sendmsg),
    SCMP_SYS(recvmsg),
    SCMP_SYS(set_tid_address),
    SCMP_SYS(arch_prctl),
    SCMP_SYS(restart_syscall),
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
    SCMP_SYS(getrlimit),
};

/// What takes a path. Landlock decides what may be read, but not what may be looked at, nor who may
/// open with O_PATH; so without a tree to read these go too.
constexpr std::array of_paths{
    SCMP_SYS(newfstatat), SCMP_SYS(statx),    SCMP_SYS(openat),
    SCMP_SYS(open),       SCMP_SYS(access),   SCMP_SYS(faccessat),
    SCMP_SYS(faccessat2), SCMP_SYS(readlink), SCMP_SYS(readlinkat),
};

/// What the last steps of the birth need; gone in the second stage. System calls that make
/// descriptors are among them.
constexpr std::array only_at_birth{
    SCMP_SYS(seccomp),
    SCMP_SYS(sched_setaffinity),
    SCMP_SYS(prctl),
    SCMP_SYS(prlimit64),
    SCMP_SYS(fcntl),
    SCMP_SYS(dup),
    SCMP_SYS(dup2),
    SCMP_SYS(dup3),
    SCMP_SYS(close_range),
    SCMP_SYS(pipe2),
    SCMP_SYS(eventfd2),
    SCMP_SYS(epoll_create1),
    SCMP_SYS(epoll_ctl),
    SCMP_SYS(epoll_wait),
    SCMP_SYS(epoll_pwait),
    SCMP_SYS(timerfd_create),
    SCMP_SYS(timerfd_settime),
    SCMP_SYS(mlock),
    SCMP_SYS(munlock),
};

/// To be reached from the network; gone in the second stage.
constexpr std::array to_listen{
    SCMP_SYS(bind),         SCMP_SYS(listen),      SCMP_SYS(accept4),
    SCMP_SYS(accept),       SCMP_SYS(getsockname), SCMP_SYS(getpeername),
    SCMP_SYS(setsockopt),   SCMP_SYS(ioctl),       SCMP_SYS(sched_getscheduler),
    SCMP_SYS(epoll_create),
};

/// To reach others as well; gone in the second stage.
constexpr std::array to_connect{
    SCMP_SYS(connect),
    SCMP_SYS(memfd_create),
    SCMP_SYS(ftruncate),
    SCMP_SYS(socketpair),
};

/// To speak over connections that are there.
constexpr std::array to_speak{
    SCMP_SYS(sendto),      SCMP_SYS(recvfrom),   SCMP_SYS(epoll_ctl), SCMP_SYS(epoll_wait),
    SCMP_SYS(epoll_pwait), SCMP_SYS(getsockopt), SCMP_SYS(shutdown),
};

constexpr std::array compiler_too{SCMP_SYS(memfd_create), SCMP_SYS(ftruncate), SCMP_SYS(unlink),
                                  SCMP_SYS(prlimit64)};

class Rules {
 public:
  explicit Rules(void* filter) : filter_(filter) {}
  void allow(int call) { note(seccomp_rule_add(filter_, SCMP_ACT_ALLOW, call, 0)); }
  void allow_if(int call, scmp_arg_cmp condition) {
    note(seccomp_rule_add(filter_, SCMP_ACT_ALLOW, call, 1, condition));
  }
  void answer(int call, int error_number) {
    note(seccomp_rule_add(filter_, SCMP_ACT_ERRNO(static_cast<unsigned>(error_number)), call, 0));
  }
  [[nodiscard]] int error() const { return error_; }

 private:
  void note(int result) {
    if (result < 0 && result != -EEXIST) error_ = -result;
  }
  void* filter_;
  int error_ = 0;
};

void add_memory_rules(Rules& rules, SandboxRole role, FilterStage stage) {
  // Never writable and executable at once. Shared mappings escape RLIMIT_DATA, so user code makes
  // none.
  rules.allow_if(SCMP_SYS(mprotect), SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC | PROT_WRITE, 0));
  rules.allow_if(SCMP_SYS(mprotect),
                 SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC | PROT_WRITE, PROT_WRITE));
  rules.allow_if(SCMP_SYS(mprotect),
                 SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC | PROT_WRITE, PROT_EXEC));
  if (stage == FilterStage::birth || role == SandboxRole::compiler)
    rules.allow(SCMP_SYS(mmap));
  else  // nor one that grows down, which counts as stack
    rules.allow_if(SCMP_SYS(mmap),
                   SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_TYPE | MAP_GROWSDOWN, MAP_PRIVATE));
}

void add_descriptor_rules(Rules& rules, const ConfinementOptions& options, FilterStage stage) {
  // Whether it is a terminal, and nothing else: other requests would change what processes share
  // (O_NONBLOCK of a lane's eventfd), or send signals to those that kill() does not reach.
  rules.allow_if(SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_EQ, TCGETS));
  // UCX registers memory with the device whenever its pools grow.
  if (options.rdma_device) rules.allow_if(SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_EQ, RDMA_VERBS_IOCTL));
  if (stage == FilterStage::birth || options.role == SandboxRole::compiler) {
    rules.allow(SCMP_SYS(close));
    rules.allow(SCMP_SYS(fcntl));
    return;
  }
  // User code may not take away what the worker runs on.
  rules.allow_if(SCMP_SYS(close),
                 SCMP_A0(SCMP_CMP_GE, static_cast<scmp_datum_t>(options.protected_descriptors)));
  for (const unsigned long command : {F_GETFD, F_GETFL, F_SETFD, F_GET_SEALS})
    rules.allow_if(SCMP_SYS(fcntl), SCMP_A1(SCMP_CMP_EQ, command));
}

void add_network_rules(Rules& rules, SandboxRole role, FilterStage stage) {
  if (!speaks_ucx(role)) return;
  for (const int call : to_speak) rules.allow(call);
  if (stage != FilterStage::birth) return;
  for (const int call : to_listen) rules.allow(call);
  if (role == SandboxRole::remote_worker) rules.allow(SCMP_SYS(socket));
  if (role != SandboxRole::door)
    for (const int call : to_connect) rules.allow(call);
  // Whoever takes a door or a dispatch over must not reach the sockets of its user's other
  // processes, which would take it for that user.
  if (role != SandboxRole::remote_worker)
    for (const unsigned long family : {AF_INET, AF_INET6, AF_NETLINK})
      rules.allow_if(SCMP_SYS(socket), SCMP_A0(SCMP_CMP_EQ, family));
}

void add_process_rules(Rules& rules) {
  // glibc asks clone3 first, whose flags a filter cannot read; ENOSYS makes it take clone. Threads,
  // but no processes.
  rules.answer(SCMP_SYS(clone3), ENOSYS);
  rules.allow_if(SCMP_SYS(clone), SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));
  // Unshares nothing from a process with one thread and fails in others: how the worker tells.
  rules.allow_if(SCMP_SYS(unshare), SCMP_A0(SCMP_CMP_EQ, CLONE_THREAD));
  const auto self = static_cast<scmp_datum_t>(::getpid());
  rules.allow_if(SCMP_SYS(kill), SCMP_A0(SCMP_CMP_EQ, self));
  rules.allow_if(SCMP_SYS(tgkill), SCMP_A0(SCMP_CMP_EQ, self));
  rules.allow_if(SCMP_SYS(rt_tgsigqueueinfo), SCMP_A0(SCMP_CMP_EQ, self));
}

}  // namespace

Result<void> install_filter(const ConfinementOptions& options, FilterStage stage) {
  const SandboxRole role = options.role;
  const Filter filter(seccomp_init(SCMP_ACT_ERRNO(EPERM)));
  if (filter == nullptr) return fail(ErrorCode::unsupported, "seccomp_init");
  Rules rules(filter.get());
  for (const int call : always) rules.allow(call);
  if (stage == FilterStage::birth)
    for (const int call : only_at_birth) rules.allow(call);
  if (stage == FilterStage::birth || !options.readable_paths.empty())
    for (const int call : of_paths) rules.allow(call);
  if (role == SandboxRole::compiler)
    for (const int call : compiler_too) rules.allow(call);
  // With PR_SET_VMA an allocator names its mappings; everything else of prctl is for the birth.
  if (stage == FilterStage::user_code)
    rules.allow_if(SCMP_SYS(prctl), SCMP_A0(SCMP_CMP_EQ, 0x53564d41));
  if (stage == FilterStage::user_code) rules.allow_if(SCMP_SYS(prlimit64), SCMP_A2(SCMP_CMP_EQ, 0));
  add_network_rules(rules, role, stage);
  add_memory_rules(rules, role, stage);
  add_descriptor_rules(rules, options, stage);
  add_process_rules(rules);
  if (rules.error() != 0)
    return fail(system_failure(ErrorCode::system, "building the seccomp filter", rules.error()));
  seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_NNP, 0);  // set already
  seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_TSYNC, 1);
  if (stage == FilterStage::user_code) seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2);
  if (const int error = seccomp_load(filter.get()); error != 0)
    return fail(system_failure(ErrorCode::system, "seccomp_load", -error));
  return {};
}

}  // namespace orchid
