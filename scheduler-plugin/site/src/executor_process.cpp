#include "executor_process.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "foundation/files.h"
#include "topology/core_mask.h"

namespace orchid::site {
namespace {

/// Where and as whom the child becomes the executor; made before the fork.
struct Place {
  std::vector<std::string> groups;  // files that take a process in
  cpu_set_t cores{};
  uid_t uid = 0;
};

bool enter(const std::string& group_file) {
  const int group = ::open(group_file.c_str(), O_WRONLY | O_CLOEXEC);
  // 0 is who writes.
  const bool entered = group >= 0 && ::write(group, "0", 1) == 1;
  if (group >= 0) ::close(group);
  return entered;
}

/// Between fork and exec: system calls only. To be nobody else is the last thing that root does.
const char* take_place(const void* context) noexcept {
  const Place& place = *static_cast<const Place*>(context);
  for (const std::string& group : place.groups)
    if (!enter(group)) return "entering the job's control group";
  if (::sched_setaffinity(0, sizeof(place.cores), &place.cores) != 0)
    return "binding it to the job's cores";
  ::umask(077);
  if (::chdir("/") != 0) return "leaving the service's folder";
  if (::setgroups(0, nullptr) != 0 || ::setresgid(place.uid, place.uid, place.uid) != 0 ||
      ::setresuid(place.uid, place.uid, place.uid) != 0 ||
      ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return "becoming its user";
  return nullptr;
}

}  // namespace

Result<processes::StartingChild> begin_executor(const ExecutorStart& start) {
  Place place{.groups = {}, .cores = executor::core_mask(start.cores), .uid = start.uid};
  for (const auto& group : start.groups) place.groups.push_back(group / "cgroup.procs");
  auto token = make_sealed_memory("orchid-token", as_bytes(start.token));
  if (!token) return fail(std::move(token.error()));
  processes::ProgramStart program{
      .program = start.program,
      .arguments = start.arguments,
      .environment = std::vector<std::string>{"PATH=/usr/bin:/bin", "LANG=C.UTF-8"},
      .descriptors = {{.from = token->get(), .as = token_number}},
      .dies_with_us = true,
      .default_signals = true,
      // What the executor starts cannot say so by itself: it may not look into its own process.
      .first_to_lose_memory = true,
      .last_step = {.run = take_place, .context = &place}};
  if (start.feed >= 0) program.descriptors.push_back({.from = start.feed, .as = feed_number});
  return processes::ChildProcess::begin(program);
}

}  // namespace orchid::site
