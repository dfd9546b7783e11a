#include "share/share_start.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "foundation/file_lock.h"
#include "foundation/json_document.h"
#include "processes/program_start.h"
#include "share/detached_step.h"
#include "share/job_processes.h"
#include "share/step_surroundings.h"

namespace orchid::share {
namespace {

constexpr std::chrono::milliseconds look_again{100};

Result<std::filesystem::path> log_of_share(const std::filesystem::path& state, std::uint64_t job) {
  const std::filesystem::path folder = state / "shares";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return fail(ErrorCode::system, "making " + folder.string() + ": " + error.message());
  return folder / fmt::format("{}.log", job);
}

/// A gateway that only its own host reaches will do for a job that has only this host.
Result<std::string> address_for(const ShareStart& start) {
  auto address = start.gateway->address_for_nodes(start.address);
  const bool all_is_here = start.request.job.nodes() == 1 && find_own_job() &&
                           start.gateway->is_here && !start.gateway->addresses.empty();
  if (address || !all_is_here) return address;
  return std::string(pilot::host_and_port(start.gateway->addresses.front()));
}

std::chrono::seconds seconds_since_epoch() {
  return std::chrono::floor<std::chrono::seconds>(
      std::chrono::system_clock::now().time_since_epoch());
}

/// Until its end. Errors: `lease_ended`, those of `SlurmSteps`.
Result<std::optional<std::chrono::seconds>> time_of(const BatchJob& job, const SlurmSteps& slurm) {
  const auto times = slurm.times(job.id);
  if (!times) return fail(times.error());
  const auto left = time_left(*times, seconds_since_epoch(), age_of_job(job.id));
  if (left && *left <= 2 * end_margin)
    return fail(ErrorCode::lease_ended, fmt::format("job {} ends in {} s", job.id, left->count()));
  return left;
}

Result<void> complete(ShareStart& start, const SlurmSteps& slurm) {
  ShareRequest& request = start.request;
  if (start.gateway) {
    auto gateway = address_for(start);
    if (!gateway) return fail(std::move(gateway.error()));
    request.gateway = std::move(*gateway);
    request.token_file = start.gateway->token_file;
  }
  const auto shares = slurm.shares(request.job.id);
  if (!shares) return fail(shares.error());
  if (!shares->empty())
    return fail(ErrorCode::conflict,
                fmt::format("job {} is already shared, by its step {}; 'orchid share stop' ends it",
                            request.job.id, shares->front()));
  const auto left = time_of(request.job, slurm);
  if (!left) return fail(left.error());
  request.ends_in = *left;
  return {};
}

/// A worker that gets no memory is no help; it would be a riddle why nothing is placed there.
void warn_of_little_memory(const ShareRequest& request, const ShareParts& parts) {
  const auto memory = memory_of(request.option, request.job, request.job.most_cpus());
  const JsonDocument limits(parts.get("/v1/limits"));
  const ByteCount worker{limits.root().optional().number<std::uint64_t>("worker_memory_bytes")};
  if (memory && *memory < worker)
    parts.say(fmt::format(
        "no function fits into this share: a worker needs {}, and the share has {} of the job's "
        "memory; give more with mem:SIZE, or start the gateway with a smaller worker_memory",
        to_string(worker), to_string(*memory)));
}

/// Until the executor of each node has joined. Errors: `system`, `timed_out`.
Result<std::vector<NodeShare>> wait_until_joined(const GatewayQuestion& get, const BatchJob& job,
                                                 DetachedStep& step, std::chrono::seconds within) {
  const auto give_up = std::chrono::steady_clock::now() + within;
  while (true) {
    auto shares = shares_of(get, job.id);
    if (!shares) return shares;
    std::erase_if(*shares, [](const NodeShare& one) { return one.state != "connected"; });
    if (shares->size() >= job.nodes()) return shares;
    if (step.ended())
      return fail(ErrorCode::system, "the share's step ended at once; it said: " + step.said());
    if (std::chrono::steady_clock::now() >= give_up)
      return fail(ErrorCode::timed_out,
                  fmt::format("{} of {} nodes have joined within {} s; the share's step said: {}",
                              shares->size(), job.nodes(), within.count(), step.said()));
    std::this_thread::sleep_for(look_again);
  }
}

}  // namespace

Result<std::vector<NodeShare>> start_share(ShareStart start, const ShareParts& parts) {
  const BatchJob& job = start.request.job;
  const auto log = log_of_share(start.state, job.id);
  if (!log) return fail(log.error());
  // The site's plugin and the job's own script may both want it.
  const auto alone =
      lock_file(*log, start.within,
                fmt::format("another 'orchid share start' of job {} has not ended", job.id));
  if (!alone) return fail(alone.error());
  if (auto done = complete(start, parts.slurm); !done) return fail(std::move(done.error()));
  warn_of_little_memory(start.request, parts);
  auto step = DetachedStep::start(step_command(start.request),
                                  step_environment(processes::environment_with({})), *log);
  if (!step) return fail(std::move(step.error()));
  auto shares = wait_until_joined(parts.get, job, *step, start.within);
  if (shares) return shares;
  if (const auto left = parts.slurm.shares(job.id); left) (void)parts.slurm.end(*left);
  return shares;
}

Result<std::vector<std::string>> end_share(const SlurmSteps& slurm, std::uint64_t job,
                                           std::chrono::seconds within) {
  auto steps = slurm.shares(job);
  if (!steps) return steps;
  const auto give_up = std::chrono::steady_clock::now() + within;
  if (auto told = slurm.end(*steps); !told) return fail(std::move(told.error()));
  while (true) {
    const auto left = slurm.shares(job);
    if (!left) return fail(left.error());
    if (left->empty()) return steps;
    if (std::chrono::steady_clock::now() >= give_up)
      return fail(ErrorCode::timed_out,
                  fmt::format("step {} has been told to end, and is still there; 'scancel {}' ends "
                              "it by force",
                              left->front(), left->front()));
    std::this_thread::sleep_for(look_again);
  }
}

}  // namespace orchid::share
