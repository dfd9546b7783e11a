#include "share/step_surroundings.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <string_view>

#include "foundation/numbers.h"
#include "topology/host.h"

namespace orchid::share {
namespace {

constexpr std::string_view folder_prefix = "orchid-share-";
constexpr ByteCount least_memory = 64_MiB;  // of an executor's functions
constexpr std::time_t settled_s = 60;       // a folder that is just being made has no lock yet

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

template <typename Number>
Number number_of(const char* name) {
  return leading_number<Number>(variable(name)).value_or(0);
}

CoreList allowed_cores() {
  cpu_set_t mask;
  CoreList cores;
  if (::sched_getaffinity(0, sizeof(mask), &mask) != 0) return cores;
  for (std::uint32_t core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &mask)) cores.push_back(core);
  return cores;
}

/// One of ours that nobody has locked any more.
void remove_if_abandoned(const std::filesystem::path& folder) {
  const std::filesystem::path lock = folder / "lock";
  struct stat status{};
  if (::lstat(lock.c_str(), &status) != 0 || status.st_uid != ::geteuid() ||
      !S_ISREG(status.st_mode) || std::time(nullptr) - status.st_mtime < settled_s)
    return;
  const UniqueFd file(::open(lock.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!file || ::flock(file.get(), LOCK_EX | LOCK_NB) != 0) return;
  std::error_code ignored;  // the next one tries again
  std::filesystem::remove_all(folder, ignored);
}

}  // namespace

std::optional<OwnStep> find_own_job() {
  OwnStep own{.job = number_of<std::uint64_t>("SLURM_JOB_ID"),
              .step = variable("SLURM_STEP_ID"),
              .node = variable("SLURMD_NODENAME"),
              .cluster = variable("SLURM_CLUSTER_NAME"),
              .cpus_here = number_of<std::uint32_t>("SLURM_CPUS_ON_NODE")};
  return own.job != 0 && !own.node.empty() ? std::optional(std::move(own)) : std::nullopt;
}

Result<OwnStep> read_own_step() {
  auto own = find_own_job();
  if (own && !own->step.empty()) return std::move(*own);
  return fail(ErrorCode::bad_request,
              "this is not a step of a Slurm job; 'orchid share start' inside a job starts one");
}

Result<CoreList> cores_of_job(const OwnStep& own, const SlurmSteps& slurm) {
  CoreList allowed = allowed_cores();
  if (own.cpus_here == 0 || allowed.size() <= own.cpus_here) return allowed;
  auto counted = slurm.cores(own.job, own.node);
  if (!counted) return counted;
  const auto count = slurm.processors(own.node);
  if (!count) return fail(count.error());
  const auto machine = executor::discover_host();
  if (!machine) return fail(machine.error());
  // A batch system may be told that a machine has other cores than it has: then there is no order.
  return threads_behind(*counted, *count, machine->thread_order).value_or(std::move(*counted));
}

Result<BatchJob> with_memory_here(BatchJob job, const OwnStep& own, const SlurmSteps& slurm) {
  if (job.per_cpu || job.per_node) return job;
  auto memory = slurm.memory(own.job, own.node);
  if (!memory) return fail(std::move(memory.error()));
  job.per_node = *memory;
  return job;
}

Result<std::vector<std::string>> memory_arguments(const OwnStep& own, ByteCount memory) {
  if (memory < least_memory)
    return fail(ErrorCode::quota,
                fmt::format("job {} has only {} of memory for functions on {}, and they need {}: "
                            "ask for more with --mem or --mem-per-cpu",
                            own.job, to_string(memory), own.node, to_string(least_memory)));
  return std::vector<std::string>{"--memory", fmt::format("{}MiB", memory.value >> 20)};
}

Result<NodeFolder> NodeFolder::make(std::uint64_t job) {
  const std::filesystem::path parent = "/tmp";
  std::error_code gone;
  for (std::filesystem::directory_iterator at(parent, gone), end; !gone && at != end;
       at.increment(gone))
    if (at->path().filename().string().starts_with(folder_prefix)) remove_if_abandoned(at->path());
  std::string name = parent / fmt::format("{}{}-XXXXXX", folder_prefix, job);
  if (::mkdtemp(name.data()) == nullptr) return fail_errno("making a folder in /tmp");
  const std::string lock_name = name + "/lock";
  UniqueFd lock(::open(lock_name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_EXCL, 0600));
  if (!lock || ::flock(lock.get(), LOCK_EX) != 0) return fail_errno("locking " + name);
  return NodeFolder(std::move(name), std::move(lock));
}

void NodeFolder::remove() {
  if (path_.empty()) return;
  std::error_code ignored;  // what is left is removed by the next one here
  std::filesystem::remove_all(path_, ignored);
  path_.clear();
}

}  // namespace orchid::share
