#include "share/batch_job.h"

#include <doctest/doctest.h>

#include <map>

namespace orchid::share {
namespace {

Result<BatchJob> job_of(const std::map<std::string, std::string>& variables) {
  return read_batch_job([&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  });
}

}  // namespace

TEST_CASE("a job is read from what Slurm says in its environment") {
  const auto job = job_of({{"SLURM_JOB_ID", "17"},
                           {"SLURM_CLUSTER_NAME", "alps"},
                           {"SLURM_JOB_CPUS_PER_NODE", "2(x3),1"},
                           {"SLURM_MEM_PER_CPU", "512"}});
  REQUIRE(job.has_value());
  CHECK(job->id == 17);
  CHECK(job->cluster == "alps");
  CHECK(job->cpus == std::vector<std::uint32_t>{2, 2, 2, 1});
  CHECK(job->nodes() == 4);
  CHECK(job->most_cpus() == 2);
  CHECK(job->per_cpu == ByteCount{512ULL << 20});
  CHECK_FALSE(job->per_node.has_value());
}

TEST_CASE("outside of a job it is said where shares are started") {
  const auto none = job_of({});
  REQUIRE_FALSE(none.has_value());
  CHECK(none.error().code == ErrorCode::bad_request);
  CHECK(none.error().message.find("SLURM_JOB_ID") != std::string::npos);
  CHECK(none.error().message.find("orchid pilot start") != std::string::npos);
}

TEST_CASE("an environment that contradicts itself is no job") {
  for (const char* cpus : {"", "x", "2(x3", "2(3)", "0", "2(x0x)", "99999999999", "2(x99999999)"})
    CHECK_FALSE(parse_cpus_per_node(cpus).has_value());
  CHECK(job_of({{"SLURM_JOB_ID", "17"}}).error().code == ErrorCode::internal);
}

TEST_CASE("more than the job has cannot be shared") {
  BatchJob job{.id = 17, .cluster = {}, .cpus = {2, 4}, .per_cpu = ByteCount{1ULL << 30}};
  CHECK(check({.cores = 4}, job).has_value());
  const auto cores = check({.cores = 5}, job);
  REQUIRE_FALSE(cores.has_value());
  CHECK(cores.error().message.find("cores:5") != std::string::npos);
  CHECK(cores.error().message.find("job 17") != std::string::npos);
  CHECK(check({.memory_bytes = 4ULL << 30}, job).has_value());
  CHECK_FALSE(check({.memory_bytes = 5ULL << 30}, job).has_value());
  job.per_cpu.reset();
  CHECK(check({.memory_bytes = 5ULL << 30}, job).has_value());  // nobody counts it
  job.per_node = ByteCount{2ULL << 30};
  CHECK_FALSE(check({.memory_bytes = 3ULL << 30}, job).has_value());
}

}  // namespace orchid::share
