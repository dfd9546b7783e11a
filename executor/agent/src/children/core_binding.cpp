#include "children/core_binding.h"

#include <sched.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "foundation/numbers.h"

namespace orchid::executor {
namespace {

cpu_set_t mask_of(const CoreList& cores) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  for (const std::uint32_t core : cores)
    if (core < CPU_SETSIZE) CPU_SET(core, &mask);
  return mask;
}

}  // namespace

Result<void> bind_this_process(const CoreList& cores) {
  const cpu_set_t mask = mask_of(cores);
  if (::sched_setaffinity(0, sizeof(mask), &mask) == 0) return {};
  return fail_errno("sched_setaffinity to the offered cores");
}

Result<void> bind_processes(const std::vector<pid_t>& pids, const CoreList& cores) {
  const cpu_set_t mask = mask_of(cores);
  for (const pid_t pid : pids) {
    std::error_code gone;
    const std::filesystem::path threads = "/proc/" + std::to_string(pid) + "/task";
    for (std::filesystem::directory_iterator at(threads, gone), end; !gone && at != end;
         at.increment(gone)) {
      const auto thread = parse_number<pid_t>(at->path().filename().native()).value_or(0);
      if (::sched_setaffinity(thread, sizeof(mask), &mask) != 0 && errno != ESRCH)
        return fail_errno("sched_setaffinity of process " + std::to_string(pid));
    }
  }
  return {};
}

}  // namespace orchid::executor
