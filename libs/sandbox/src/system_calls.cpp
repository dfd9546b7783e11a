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

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "descriptor_numbers.h"
#include "role_calls.h"
#include "sandbox/allowed_calls.h"

namespace orchid {
namespace {

struct FilterDeleter {
  void operator()(void* filter) const { seccomp_release(filter); }
};
using Filter = std::unique_ptr<void, FilterDeleter>;
using Conditions = std::vector<ArgumentCondition>;

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
    SCMP_SYS(getpriority),
    SCMP_SYS(poll),
    SCMP_SYS(ppoll),
    SCMP_SYS(select),
    SCMP_SYS(pselect6),
    SCMP_SYS(sendmsg),
    SCMP_SYS(recvmsg),
    SCMP_SYS(set_tid_address),
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
    SCMP_SYS(seccomp),       SCMP_SYS(arch_prctl),     SCMP_SYS(sched_setaffinity),
    SCMP_SYS(prctl),         SCMP_SYS(prlimit64),      SCMP_SYS(fcntl),
    SCMP_SYS(dup),           SCMP_SYS(dup2),           SCMP_SYS(dup3),
    SCMP_SYS(close_range),   SCMP_SYS(pipe2),          SCMP_SYS(eventfd2),
    SCMP_SYS(epoll_create1), SCMP_SYS(epoll_ctl),      SCMP_SYS(epoll_wait),
    SCMP_SYS(epoll_pwait),   SCMP_SYS(timerfd_create), SCMP_SYS(timerfd_settime),
    SCMP_SYS(mlock),         SCMP_SYS(munlock),
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

/// What a process may not send itself: signals that cannot be caught, and those that stop it. Only
/// others can, so whoever sees them knows that it was not the process.
constexpr std::array for_others{SIGKILL, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU};
constexpr int last_signal = 64;

ArgumentCondition equals(unsigned argument, std::uint64_t value) {
  return {.argument = argument, .value = value};
}
ArgumentCondition masked(unsigned argument, std::uint64_t mask, std::uint64_t value) {
  return {.argument = argument, .mask = mask, .value = value};
}

/// What pthread_create asks of the kernel: glibc's nptl/pthread_create.c.
constexpr std::uint64_t thread_flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SYSVSEM |
                                       CLONE_SIGHAND | CLONE_THREAD | CLONE_SETTLS |
                                       CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;

/// The list as it grows.
class Table {
 public:
  void allow(int call) { add(call, {}, {}); }
  void allow_if(int call, Conditions conditions, std::string_view only) {
    add(call, std::move(conditions), only);
  }
  [[nodiscard]] std::vector<AllowedCall> take() { return std::move(calls_); }

 private:
  void add(int call, Conditions conditions, std::string_view only) {
    if (call < 0) return;  // this architecture has none of that name
    calls_.push_back({.number = call, .only = only, .conditions = std::move(conditions)});
  }
  std::vector<AllowedCall> calls_;
};

void add_memory_rules(Table& table, const ConfinementOptions& options, FilterStage stage) {
  const SandboxRole role = options.role;
  // Never writable and executable at once. Shared mappings escape RLIMIT_DATA, so user code makes
  // none, nor one that grows down, which counts as stack.
  constexpr std::uint64_t both = PROT_EXEC | PROT_WRITE;
  const bool any_mapping = stage == FilterStage::birth || role == SandboxRole::compiler;
  if (any_mapping) table.allow(SCMP_SYS(mmap));
  for (const std::uint64_t protection : {0, PROT_WRITE, PROT_EXEC}) {
    table.allow_if(SCMP_SYS(mprotect), {masked(2, both, protection)},
                   "not writable and executable at once");
    if (any_mapping) continue;
    // A device process maps lanes that it is sent; shared memory is not counted, but it runs no
    // user code.
    if (role == SandboxRole::device)
      table.allow_if(SCMP_SYS(mmap), {masked(2, both, protection), masked(3, MAP_GROWSDOWN, 0)},
                     "not growing down, not writable and executable at once");
    else
      table.allow_if(
          SCMP_SYS(mmap),
          {masked(2, both, protection), masked(3, MAP_TYPE | MAP_GROWSDOWN, MAP_PRIVATE)},
          "private, not growing down, not writable and executable at once");
  }
  // A room of data, which its tenant's depot sends: its bytes are charged to the tenant. Not the
  // descriptors that a worker is born with, among them perhaps an RDMA device's.
  if (!any_mapping && (role == SandboxRole::worker || role == SandboxRole::remote_worker))
    for (const ArgumentCondition& sent : descriptors_from(options.protected_descriptors, 4))
      table.allow_if(SCMP_SYS(mmap),
                     {masked(2, PROT_EXEC, 0),
                      masked(3, MAP_TYPE | MAP_ANONYMOUS | MAP_GROWSDOWN, MAP_SHARED), sent},
                     "shared, of a file that it was sent, not executable");
}

void add_descriptor_rules(Table& table, const ConfinementOptions& options, FilterStage stage) {
  // Whether it is a terminal, and nothing else: other requests would change what processes share
  // (O_NONBLOCK of a lane's eventfd), or send signals to those that kill() does not reach.
  table.allow_if(SCMP_SYS(ioctl), {equals(1, TCGETS)}, "asking whether it is a terminal");
  // UCX registers memory with the device whenever its pools grow.
  if (options.rdma_device)
    table.allow_if(SCMP_SYS(ioctl), {equals(1, RDMA_VERBS_IOCTL)}, "to an RDMA device");
  // On what it has: a driver's descriptors are asked in many ways, and all of them were opened in
  // the first stage, as far as Landlock let it.
  if (options.role == SandboxRole::device) table.allow(SCMP_SYS(ioctl));
  const bool any_descriptor = stage == FilterStage::birth ||
                              options.role == SandboxRole::compiler ||
                              options.role == SandboxRole::device;
  const bool is_depot = options.role == SandboxRole::depot;  // closes what it has passed on
  if (any_descriptor || is_depot) table.allow(SCMP_SYS(close));
  if (any_descriptor) return table.allow(SCMP_SYS(fcntl));
  // F_SETOWN would let it send signals to others.
  if (is_depot)
    return table.allow_if(SCMP_SYS(fcntl), {equals(1, F_GETFD)}, "whether there is a descriptor");
  // User code may not take away what the worker runs on.
  for (const ArgumentCondition& other : descriptors_from(options.protected_descriptors, 0))
    table.allow_if(SCMP_SYS(close), {other}, "descriptors that are not the worker's own");
  for (const std::uint64_t command : {F_GETFD, F_GETFL, F_SETFD, F_GET_SEALS})
    table.allow_if(SCMP_SYS(fcntl), {equals(1, command)}, "reading flags and seals, and F_SETFD");
}

void add_network_rules(Table& table, SandboxRole role, FilterStage stage) {
  if (role == SandboxRole::device && stage == FilterStage::birth) {
    // A context of NVIDIA's has a socket, at which other processes could ask for its memory, and
    // does not come to be without it. Nobody is ever let in: there is no accept.
    table.allow_if(SCMP_SYS(socket), {equals(0, AF_UNIX), equals(1, SOCK_SEQPACKET | SOCK_CLOEXEC)},
                   "within this machine, for packets");
    for (const int call : {SCMP_SYS(bind), SCMP_SYS(listen), SCMP_SYS(setsockopt)})
      table.allow(call);
  }
  if (!speaks_ucx(role)) return;
  for (const int call : to_speak) table.allow(call);
  if (stage != FilterStage::birth) return;
  for (const int call : to_listen) table.allow(call);
  if (role == SandboxRole::remote_worker) table.allow(SCMP_SYS(socket));
  if (role != SandboxRole::door)
    for (const int call : to_connect) table.allow(call);
  // Whoever takes a door or a dispatch over must not reach the sockets of its user's other
  // processes, which would take it for that user.
  if (role != SandboxRole::remote_worker)
    for (const std::uint64_t family : {AF_INET, AF_INET6, AF_NETLINK})
      table.allow_if(SCMP_SYS(socket), {equals(0, family)}, "of the network");
}

/// A signal to itself. Each number by itself: the kernel reads 32 bits of what the filter sees as
/// 64, so a list of what is forbidden could be gone around.
void add_signal_rules(Table& table, std::uint64_t self) {
  constexpr std::string_view only = "to itself; not SIGKILL, nor a signal that stops it";
  for (int number = 0; number <= last_signal; ++number) {
    if (std::ranges::find(for_others, number) != for_others.end()) continue;
    const auto signal = static_cast<std::uint64_t>(number);
    table.allow_if(SCMP_SYS(kill), {equals(0, self), equals(1, signal)}, only);
    table.allow_if(SCMP_SYS(tgkill), {equals(0, self), equals(2, signal)}, only);
  }
}

void add_process_rules(Table& table, SandboxRole role, FilterStage stage) {
  table.allow_if(SCMP_SYS(clone), {equals(0, thread_flags)},
                 "threads, as the C library makes them");
  // Unshares nothing from a process with one thread and fails in others: how the worker tells.
  table.allow_if(SCMP_SYS(unshare), {equals(0, CLONE_THREAD)}, "asking whether there are threads");
  const auto self = static_cast<std::uint64_t>(::getpid());
  add_signal_rules(table, self);
  for (const std::uint64_t process : {std::uint64_t{0}, self}) {
    for (const int call : {SCMP_SYS(getpgid), SCMP_SYS(getsid), SCMP_SYS(get_robust_list)})
      table.allow_if(call, {equals(0, process)}, "of itself");
    if (role == SandboxRole::compiler)
      table.allow_if(SCMP_SYS(prlimit64), {equals(0, process)}, "its own limits");
    else if (stage == FilterStage::user_code)
      table.allow_if(SCMP_SYS(prlimit64), {equals(0, process), equals(2, 0)},
                     "reading its own limits");
  }
  // With PR_SET_VMA an allocator names its mappings; everything else of prctl is for the birth.
  if (stage == FilterStage::user_code)
    table.allow_if(SCMP_SYS(prctl), {equals(0, 0x53564d41)}, "naming its own mappings");
}

std::vector<AllowedCall> table_of(const ConfinementOptions& options, FilterStage stage) {
  Table table;
  for (const int call : always) table.allow(call);
  if (stage == FilterStage::birth)
    for (const int call : only_at_birth) table.allow(call);
  const bool may_open = options.role != SandboxRole::device && !options.readable_paths.empty();
  if (stage == FilterStage::birth || may_open)
    for (const int call : of_paths) table.allow(call);
  if (options.role == SandboxRole::compiler)
    for (const int call : compiler_too) table.allow(call);
  if (options.role == SandboxRole::flows)
    for (const int call : flows_too) table.allow(call);
  if (options.role == SandboxRole::device) {
    for (const int call : device_too) table.allow(call);
    if (stage == FilterStage::birth)
      for (const int call : to_load_driver) table.allow(call);
  }
  add_network_rules(table, options.role, stage);
  add_memory_rules(table, options, stage);
  add_descriptor_rules(table, options, stage);
  add_process_rules(table, options.role, stage);
  return table.take();
}

scmp_arg_cmp comparison_of(const ArgumentCondition& condition) {
  if (condition.mask == ~std::uint64_t{0})
    return {condition.argument, SCMP_CMP_EQ, condition.value, 0};
  return {condition.argument, SCMP_CMP_MASKED_EQ, condition.mask, condition.value};
}

/// Errno, or 0.
int add_rules(void* filter, const std::vector<AllowedCall>& table, SandboxRole role) {
  for (const AllowedCall& call : table) {
    std::vector<scmp_arg_cmp> comparisons;
    for (const ArgumentCondition& condition : call.conditions)
      comparisons.push_back(comparison_of(condition));
    const int result =
        seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, call.number,
                               static_cast<unsigned>(comparisons.size()), comparisons.data());
    if (result < 0 && result != -EEXIST) return -result;
  }
  // glibc asks clone3 first, whose flags a filter cannot read; ENOSYS makes it take clone. Threads,
  // but no processes.
  int result = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
  // NVIDIA's driver removes the name of its socket, which has none, and gives up if that fails in
  // another way than this.
  if (result >= 0 && role == SandboxRole::device)
    result = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOENT), SCMP_SYS(unlink), 0);
  // curl before 8.0 connects also a socket that it was told is connected. It is told that this went
  // well; after "in progress" it would wait for 200 ms. Nothing is connected to.
  if (result >= 0 && role == SandboxRole::flows)
    result = seccomp_rule_add(filter, SCMP_ACT_ERRNO(0), SCMP_SYS(connect), 0);
  return result < 0 ? -result : 0;
}

std::string name_of(int call) {
  const std::unique_ptr<char, decltype(&std::free)> name(
      seccomp_syscall_resolve_num_arch(seccomp_arch_native(), call), std::free);
  return name == nullptr ? std::to_string(call) : name.get();
}

}  // namespace

bool ArgumentCondition::holds(std::uint64_t seen) const { return (seen & mask) == value; }

std::vector<AllowedCall> calls_of_user_code(const ConfinementOptions& options) {
  std::vector<AllowedCall> table = table_of(options, FilterStage::user_code);
  for (AllowedCall& call : table) call.name = name_of(call.number);
  std::ranges::stable_sort(table, {}, &AllowedCall::name);
  return table;
}

Result<void> install_filter(const ConfinementOptions& options, FilterStage stage) {
  const Filter filter(seccomp_init(SCMP_ACT_ERRNO(EPERM)));
  if (filter == nullptr) return fail(ErrorCode::unsupported, "seccomp_init");
  if (const int error = add_rules(filter.get(), table_of(options, stage), options.role); error != 0)
    return fail(system_failure(ErrorCode::system, "building the seccomp filter", error));
  seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_NNP, 0);  // set already
  seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_TSYNC, 1);
  // A call in another architecture's numbers ends all threads, not just the one.
  seccomp_attr_set(filter.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
  if (stage == FilterStage::user_code) seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2);
  if (const int error = seccomp_load(filter.get()); error != 0)
    return fail(system_failure(ErrorCode::system, "seccomp_load", -error));
  return {};
}

}  // namespace orchid
