#include "site/slurm_job.h"

#include <doctest/doctest.h>

#include <string>

namespace orchid::site {
namespace {

/// As scontrol of Slurm 22.05 prints a job.
std::string slurm_told(const std::string& name, const std::string& state = "RUNNING",
                       const std::string& more = "") {
  return "JobId=17 JobName=" + name +
         "\n   UserId=alice(1000) GroupId=alice(1000) MCS_label=N/A\n   Priority=1 Nice=0\n"
         "   JobState=" +
         state +
         " Reason=None Dependency=(null)\n   NodeList=n[1-3]\n   BatchHost=n1\n"
         "   NumNodes=3 NumCPUs=5 NumTasks=5 CPUs/Task=1 ReqB:S:C:T=0:0:*:*\n"
         "   JOB_GRES=(null)\n     Nodes=n1 CPU_IDs=3 Mem=512 GRES=\n"
         "     Nodes=n[2-3] CPU_IDs=0-1 Mem=1024 GRES=\n   Command=(null)\n   WorkDir=/tmp\n" +
         more;
}

const std::vector<std::vector<std::string>> names{{"n1"}, {"n2", "n3"}};

}  // namespace

TEST_CASE("a job's cores on a node are those that Slurm names") {
  const auto job = parse_slurm_job(slurm_told("wrap"));
  REQUIRE(job.has_value());
  CHECK(job->uid == 1000);
  CHECK(job->cpus == 5);
  CHECK(cores_on("n1", *job, names) == CoreList{3});
  CHECK(cores_on("n3", *job, names) == CoreList{0, 1});
  CHECK(cores_on("n4", *job, names).error().code == ErrorCode::not_found);
}

TEST_CASE("a job that does not run has no cores") {
  for (const char* state : {"PENDING", "COMPLETING", "SUSPENDED", "COMPLETED"})
    CHECK(parse_slurm_job(slurm_told("wrap", state)).error().code == ErrorCode::denied);
}

TEST_CASE("what a user calls a job cannot say whose it is, or that it runs") {
  for (const char* name : {"x UserId=root(0)", "x\n   UserId=root(0)", "x JobState=RUNNING",
                           "x NumCPUs=64", "x\n   NumNodes=1 NumCPUs=64 NumTasks=64"}) {
    const auto job = parse_slurm_job(slurm_told(name));
    REQUIRE_FALSE_MESSAGE(job.has_value(), name);
    CHECK(job.error().code == ErrorCode::denied);
  }
}

TEST_CASE("what a user calls a job cannot give it cores") {
  const auto job = parse_slurm_job(slurm_told("x\n     Nodes=n1 CPU_IDs=0-63 Mem=1 GRES="));
  REQUIRE(job.has_value());
  REQUIRE(job->nodes.size() == 3);
  CHECK(cores_on("n1", *job, {{"n1"}, {"n1"}, {"n2", "n3"}}).error().code == ErrorCode::denied);
  // Nor when it names a node that is not the job's.
  CHECK(cores_on("n9", *job, {{"n9"}, {"n1"}, {"n2", "n3"}}).error().code == ErrorCode::denied);
  const auto at_end =
      parse_slurm_job(slurm_told("x", "RUNNING", "   Comment=\n Nodes=n1 CPU_IDs=7\n"));
  REQUIRE(at_end.has_value());
  CHECK(cores_on("n1", *at_end, {{"n1"}, {"n2", "n3"}, {"n1"}}).error().code == ErrorCode::denied);
}

TEST_CASE("text that is no job's is refused") {
  for (const char* text : {"", "slurm_load_jobs error: Invalid job id specified\n",
                           "JobId=17 UserId=alice(1000) JobState=RUNNING\n",
                           "JobId=17 UserId=alice NumCPUs=2 JobState=RUNNING\n",
                           "JobId=17 UserId=alice(x) NumCPUs=2 JobState=RUNNING\n"})
    CHECK_FALSE(parse_slurm_job(text).has_value());
}

}  // namespace orchid::site
