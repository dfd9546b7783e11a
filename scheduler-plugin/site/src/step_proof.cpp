#include "site/step_proof.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <optional>
#include <utility>
#include <vector>

#include "foundation/files.h"
#include "foundation/units.h"
#include "job_groups.h"
#include "process_status.h"
#include "share/job_processes.h"

namespace orchid::site {
namespace {

constexpr unsigned most_ancestors = 64;

std::string text_of(const std::filesystem::path& file) {
  const auto content = read_file(file, 1_MiB);
  return content ? std::string(as_text(*content)) : std::string();
}

/// The very file, whatever it is called and wherever links lead.
bool runs_program(const std::filesystem::path& folder, const std::filesystem::path& program) {
  struct stat running{};
  struct stat wanted{};
  return ::stat((folder / "exe").c_str(), &running) == 0 && ::stat(program.c_str(), &wanted) == 0 &&
         running.st_dev == wanted.st_dev && running.st_ino == wanted.st_ino;
}

/// Of a process that looks after a step; nothing: it is none.
std::optional<share::StepEnvironment> step_after_which(pid_t process, const ProcessStatus& status,
                                                       const ProofOptions& options) {
  // slurmstepd takes its job's user now and then, but keeps root's right to come back.
  if (status.real != 0 || status.saved != 0) return std::nullopt;
  const std::filesystem::path folder = options.proc / std::to_string(process);
  auto titled = share::parse_step_title(text_of(folder / "cmdline"));
  if (!titled || titled->job == 0 || !runs_program(folder, options.slurmstepd)) return std::nullopt;
  return titled;
}

}  // namespace

Result<ProvenStep> prove_step(pid_t process, uid_t uid, const ProofOptions& options) {
  ProvenStep proven;
  pid_t at = process;
  std::vector<std::pair<pid_t, pid_t>> links;  // child and parent
  for (unsigned i = 0; i < most_ancestors && at > 1; ++i) {
    auto status = read_process_status(options.proc, at);
    if (!status) return fail(std::move(status.error()));
    if (at != process)
      if (auto step = step_after_which(at, *status, options)) {
        proven.job = step->job;
        proven.step = std::move(step->step);
        break;
      }
    // A process of root's that is not slurmstepd is where a login, or sudo, begins.
    if (status->real != uid) break;
    if (at == process) proven.allowed = std::move(status->allowed);
    links.emplace_back(at, status->parent);
    at = status->parent;
  }
  // An ancestor that has ended meanwhile has left its children to another one, and its number to
  // anybody.
  for (const auto& [child, parent] : links) {
    const auto status = read_process_status(options.proc, child);
    if (!status || status->parent != parent)
      return fail(ErrorCode::denied,
                  "processes of this step end while they are looked at; try again");
  }
  if (proven.job == 0)
    return fail(ErrorCode::denied,
                fmt::format("process {} is in no step of a Slurm job of user {}: none of its "
                            "ancestors is {}, or a process of another user is between; only what "
                            "Slurm has started may grant a job's cores",
                            process, uid, options.slurmstepd.string()));
  const std::string membership = text_of(options.proc / std::to_string(process) / "cgroup");
  auto groups = find_job_groups({.membership = membership,
                                 .job = proven.job,
                                 .uid = uid,
                                 .mount = options.cgroups,
                                 .maker = options.root});
  if (!groups) return fail(std::move(groups.error()));
  proven.groups = std::move(groups->groups);
  proven.held_to_cores = groups->has_cpuset;
  return proven;
}

}  // namespace orchid::site
