#include "children/core_binding.h"

#include <sched.h>

#include <cerrno>
#include <filesystem>
#include <set>
#include <string>

#include "foundation/numbers.h"
#include "topology/core_mask.h"

namespace orchid::executor {
namespace {

/// A thread that is bound makes bound threads. So once a look finds none that is not, none will
/// come.
constexpr int looks_for_threads = 64;

/// False: none but those that are bound already.
Result<bool> bind_new_threads(pid_t pid, const cpu_set_t& mask, std::set<pid_t>& bound) {
  bool any = false;
  std::error_code gone;
  const std::filesystem::path threads = "/proc/" + std::to_string(pid) + "/task";
  for (std::filesystem::directory_iterator at(threads, gone), end; !gone && at != end;
       at.increment(gone)) {
    const auto thread = parse_number<pid_t>(at->path().filename().native()).value_or(0);
    cpu_set_t now;
    if (thread == 0 || bound.contains(thread) ||
        (::sched_getaffinity(thread, sizeof(now), &now) == 0 && CPU_EQUAL(&now, &mask) != 0))
      continue;
    if (::sched_setaffinity(thread, sizeof(mask), &mask) != 0 && errno != ESRCH)
      return fail_errno("sched_setaffinity of process " + std::to_string(pid));
    any = true;
    bound.insert(thread);
  }
  return any;
}

}  // namespace

Result<void> bind_this_process(const CoreList& cores) {
  const cpu_set_t mask = core_mask(cores);
  if (::sched_setaffinity(0, sizeof(mask), &mask) == 0) return {};
  return fail_errno("sched_setaffinity to the offered cores");
}

Result<void> bind_process(pid_t pid, const CoreList& cores) {
  const cpu_set_t mask = core_mask(cores);
  std::set<pid_t> bound;
  for (int look = 0; look < looks_for_threads; ++look) {
    const auto more = bind_new_threads(pid, mask, bound);
    if (!more) return fail(more.error());
    if (!*more) return {};
  }
  return fail(ErrorCode::unsupported,
              "process " + std::to_string(pid) + " makes threads faster than they can be bound");
}

}  // namespace orchid::executor
