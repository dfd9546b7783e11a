#include "sandbox/confinement.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <sstream>
#include <string>

#include "foundation/files.h"
#include "foundation/numbers.h"

#include "landlock.h"
#include "system_calls.h"

namespace orchid {
namespace {

Result<void> close_all_but(const std::vector<int>& keep) {
  unsigned first = 0;
  for (const int fd : keep) {
    const auto kept = static_cast<unsigned>(fd);
    if (kept > first && ::syscall(SYS_close_range, first, kept - 1, 0) != 0)
      return fail_errno("close_range");
    first = kept + 1;
  }
  if (::syscall(SYS_close_range, first, ~0U, 0) != 0) return fail_errno("close_range");
  return {};
}

struct Mapped {
  ByteCount all;
  ByteCount data;  // of the process alone, and writable
};

/// So far: the program, and in a sanitizer's build the sanitizer's terabytes.
Mapped mapped_now() {
  const auto content = read_file("/proc/self/statm", 4_KiB);
  if (!content) return {};
  std::istringstream fields{std::string(as_text(*content))};
  std::array<std::uint64_t, 6> pages{};  // the first: all; the sixth: data and stack
  for (std::uint64_t& field : pages) fields >> field;
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return {.all = ByteCount{pages[0] * page}, .data = ByteCount{pages[5] * page}};
}

/// Far more than any function needs, since RLIMIT_DATA bounds what it may write to. Without it,
/// page tables for what is mapped and only read could fill the machine.
constexpr ByteCount most_address_space = 64_GiB;
/// The kernel counts them for the whole user, whose other processes need some.
constexpr rlim_t most_pending_signals = 64;

/// A dispatch and a depot have some for each of their workers; others have a few for themselves.
rlim_t most_descriptors(SandboxRole role) {
  constexpr rlim_t enough_for_one = 1024;
  rlimit now{};
  const bool serves_workers = role == SandboxRole::dispatch || role == SandboxRole::depot;
  if (!serves_workers || ::getrlimit(RLIMIT_NOFILE, &now) != 0) return enough_for_one;
  return now.rlim_max;
}

Result<void> limit_memory(const Mapped& mapped, const ConfinementOptions& options) {
  const auto set_memory = [&options](__rlimit_resource kind, rlim_t value) {
    rlimit limit{value, value};
    if (rlimit now{}; options.others_may_raise_limits && ::getrlimit(kind, &now) == 0)
      limit = {std::min(value, now.rlim_max), now.rlim_max};
    return ::setrlimit(kind, &limit) == 0;
  };
  const rlim_t data = options.data_limit.value;
  if (!set_memory(RLIMIT_DATA, mapped.data.value + data) ||
      !set_memory(RLIMIT_AS, mapped.all.value + data + most_address_space.value))
    return fail_errno("setrlimit");
  return {};
}

Result<void> limit_resources(const ConfinementOptions& options) {
  const auto set = [](__rlimit_resource kind, rlim_t value) {
    const rlimit limit{value, value};
    return ::setrlimit(kind, &limit) == 0;
  };
  if (!set(RLIMIT_CORE, 0) || !set(RLIMIT_SIGPENDING, most_pending_signals) ||
      !set(RLIMIT_FSIZE, RLIM_INFINITY) || !set(RLIMIT_NOFILE, most_descriptors(options.role)))
    return fail_errno("setrlimit");
  return {};
}

Result<void> die_with(int parent_pid) {
  // After any change of credentials, which clears it.
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return fail_errno("PR_SET_PDEATHSIG");
  if (::getppid() != parent_pid) return fail(ErrorCode::unreachable, "the parent process has gone");
  return {};
}

Result<void> drop_capabilities() {
  for (int capability = 0; ::prctl(PR_CAPBSET_READ, capability) >= 0; ++capability)
    ::prctl(PR_CAPBSET_DROP, capability);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  if (::syscall(SYS_capset, &header, none) != 0) return fail_errno("capset");
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  return {};
}

Result<void> restrict_files(const ConfinementOptions& options, SandboxRole role) {
  if (landlock_abi() == 0) return {};
  FileAccess files{.readable = options.readable_paths,
                   .writable = options.writable_paths,
                   .devices = options.device_paths};
  if (!speaks_ucx(role)) return enter_landlock(files, NetworkAccess::none);
  files.readable.insert(files.readable.end(), {"/proc", "/sys"});
  return enter_landlock(
      files, role == SandboxRole::door ? NetworkAccess::incoming_tcp : NetworkAccess::tcp);
}

}  // namespace

std::vector<int> open_descriptors() {
  std::vector<int> numbers;
  std::error_code error;
  for (std::filesystem::directory_iterator at("/proc/self/fd", error), end; !error && at != end;
       at.increment(error))
    if (const auto number = parse_number<int>(at->path().filename().native()))
      numbers.push_back(*number);
  if (error) return {};
  std::ranges::sort(numbers);
  return numbers;
}

int end_of_descriptors() {
  if (const std::vector<int> open = open_descriptors(); !open.empty()) return open.back() + 1;
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<int>(limit.rlim_cur);
}

Result<void> confine(const ConfinementOptions& options) {
  const Mapped mapped = mapped_now();
  if (auto done = close_all_but(options.keep_descriptors); !done) return done;
  if (options.role != SandboxRole::device)
    if (auto done = limit_memory(mapped, options); !done) return done;
  if (auto done = limit_resources(options); !done) return done;
  if (auto done = die_with(options.parent_pid); !done) return done;
  if (auto done = drop_capabilities(); !done) return done;
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return fail_errno("PR_SET_NO_NEW_PRIVS");
  if (auto done = restrict_files(options, options.role); !done) return done;
  return install_filter(options, FilterStage::birth);
}

Result<void> confine_further(const ConfinementOptions& options) {
  if (options.role == SandboxRole::device)
    if (auto done = limit_memory(mapped_now(), options); !done) return done;
  // What it needed to get into the network ends here, as for any other worker.
  if (speaks_ucx(options.role))
    if (auto done = restrict_files(options, SandboxRole::worker); !done) return done;
  return install_filter(options, FilterStage::user_code);
}

SandboxSupport probe_sandbox_support() {
  SandboxSupport support;
  support.landlock_abi = landlock_abi();
  support.seccomp = ::prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0;
  if (support.landlock_abi == 0)
    support.missing.emplace_back(
        "Landlock: needs Linux 5.13 or later with landlock among its security modules");
  if (support.landlock_abi > 0 && support.landlock_abi < 6)
    support.missing.emplace_back("Landlock scopes: need Linux 6.12 or later");
  if (!support.seccomp)
    support.missing.emplace_back("seccomp: needs a kernel with CONFIG_SECCOMP_FILTER");
  return support;
}

}  // namespace orchid

#if defined(ORCHID_SANITIZED)
// Leak checking starts a process, which the sandbox forbids. LLVM's library is not instrumented: it
// does not know of the marks that its own headers make in our code, on containers and on the slabs
// of its allocators. What is freed is kept for a while to find who still uses it: 256 MiB of it, by
// default, which is more than all the memory that a worker may have.
extern "C" const char* __asan_default_options() {
  return "detect_leaks=0:detect_container_overflow=0:allow_user_poisoning=0:quarantine_size_mb=8";
}
// What a worker would print goes nowhere, and nobody asks what it ended with. So a race ends it at
// once, and its call tells.
extern "C" const char* __tsan_default_options() { return "halt_on_error=1"; }
#endif
