#include "pilot/slurm_words.h"

#include <doctest/doctest.h>

namespace orchid::pilot {

TEST_CASE("squeue's lines become jobs, in order of their numbers") {
  const auto jobs = parse_queue(
      "18|PENDING|idle|2|4|0:00|10:00|(Resources|odd)\n"
      "17|RUNNING|idle|1|2|1:23|8:37|n1\n");
  REQUIRE(jobs.has_value());
  REQUIRE(jobs->size() == 2);
  CHECK(jobs->at(0).job == 17);
  CHECK(jobs->at(0).state == "RUNNING");
  CHECK(jobs->at(0).cpus == 2);
  CHECK(jobs->at(0).left == "8:37");
  CHECK(jobs->at(0).reason == "n1");
  CHECK(jobs->at(1).waits());
  CHECK(jobs->at(1).reason == "(Resources|odd)");
  CHECK(parse_queue("")->empty());
  CHECK_FALSE(parse_queue("something else\n").has_value());
}

TEST_CASE("the cluster's name is read from its configuration") {
  CHECK(parse_cluster_name("Configuration data\nCliFilterPlugins        = (null)\n"
                           "ClusterName             = hpc1 \nCommunicationParameters = (null)\n")
            .value() == "hpc1");
  CHECK(parse_cluster_name("Configuration data\n").error().code == ErrorCode::internal);
}

TEST_CASE("a job has failed unless somebody wanted its cores, or it itself, no more") {
  CHECK(
      parse_job_state("JobId=5 JobName=a JobState=FAILED Reason=NonZeroExitCode\n").value_or("") ==
      "FAILED");
  CHECK_FALSE(parse_job_state("JobId=5 OldJobState=FAILED").has_value());
  for (const char* state : {"FAILED", "COMPLETED", "NODE_FAIL", "TIMEOUT", "OUT_OF_MEMORY"})
    CHECK_MESSAGE(has_failed(state), state);
  for (const char* state : {"CANCELLED", "DEADLINE", "PREEMPTED"})
    CHECK_MESSAGE(!has_failed(state), state);
}

TEST_CASE("of a job that is completing its reason tells whether it has failed") {
  const auto state = [](const std::string& reason) {
    return parse_job_state("JobId=5 JobState=COMPLETING Reason=" + reason + " Dependency=(null)\n")
        .value_or("");
  };
  for (const char* reason : {"NonZeroExitCode", "NodeDown", "JobLaunchFailure", "TimeLimit"})
    CHECK_MESSAGE(has_failed(state(reason)), reason);
  CHECK(state("DeadLine") == "DEADLINE");
  CHECK(state("None") == "COMPLETING");  // cancelled, preempted, or all went well
  CHECK_FALSE(has_failed("COMPLETING"));
}

TEST_CASE("the default partition is the one that says so") {
  CHECK(parse_default_partition("PartitionName=a Default=NO\nPartitionName=b Default=YES\n") ==
        "b");
  CHECK(parse_default_partition("PartitionName=a Default=NO\n").empty());
  CHECK(parse_default_partition("").empty());
}

TEST_CASE("sbatch's answer is a job's number") {
  CHECK(parse_job_number("17\n").value_or(0) == 17);
  CHECK(parse_job_number("17;cluster\n").value_or(0) == 17);
  CHECK_FALSE(parse_job_number("Submitted batch job 17\n").has_value());
  CHECK_FALSE(parse_job_number("").has_value());
}

TEST_CASE("a job that will never start is told from one that waits") {
  const auto refusal = [](const std::string& reason, const std::string& partition = "idle",
                          const std::string& state = "PENDING") {
    return never_starts({.job = 17, .state = state, .partition = partition, .reason = reason});
  };
  for (const char* reason :
       {"(Resources)", "(Priority)", "(ReqNodeNotAvail, UnavailableNodes:n1)", "(PartitionDown)",
        "(QOSMaxJobsPerUserLimit)", "(AssocGrpCpuLimit)", "(BeginTime)", "(None)",
        "(QOSMaxCpuPerUserLimit)", "(QOSGrpCpuLimit)", "(AssocMaxJobsLimit)"})
    CHECK_MESSAGE(!refusal(reason), reason);
  struct Row {
    const char* reason;
    ErrorCode code;
    bool about_time;
  };
  for (const Row& row : {Row{"(PartitionTimeLimit)", ErrorCode::quota, true},
                         Row{"(QOSMaxWallDurationPerJobLimit)", ErrorCode::quota, true},
                         Row{"(AssocMaxWallDurationPerJobLimit)", ErrorCode::quota, true},
                         Row{"(QOSMaxCpuPerJobLimit)", ErrorCode::quota, false},
                         Row{"(QOSMinCpuNotSatisfied)", ErrorCode::quota, false},
                         Row{"(PartitionNodeLimit)", ErrorCode::quota, false},
                         Row{"(AccountNotAllowed)", ErrorCode::denied, false},
                         Row{"(BadConstraints)", ErrorCode::bad_request, false}}) {
    CAPTURE(row.reason);
    const auto failure = refusal(row.reason);
    REQUIRE(failure.has_value());
    CHECK(failure->code == row.code);
    CHECK(is_about_time(*failure) == row.about_time);
    CHECK(is_about_node(*failure) == (std::string_view(row.reason) == "(BadConstraints)"));
    CHECK(failure->message.starts_with("pilot 17 would wait for ever: Slurm says ("));
  }
  CHECK_FALSE(refusal("(PartitionTimeLimit)", "short,long").has_value());  // the other may do
  CHECK_FALSE(refusal("n1", "idle", "RUNNING").has_value());
  CHECK_FALSE(refusal("(PartitionConfig)").has_value());
  CHECK(reason_is_to_come({.job = 17, .state = "PENDING", .reason = "(PartitionConfig)"}));
  CHECK(reason_is_to_come({.job = 17, .state = "PENDING", .reason = "(None)"}));
  CHECK_FALSE(reason_is_to_come({.job = 17, .state = "PENDING", .reason = "(Resources)"}));
}

TEST_CASE("where a QOS denies what is over its limits, the advice is about that limit") {
  const std::string policy =
      "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit "
      "limit, user's size and/or time limits)\n";
  const Failure too_long =
      explain("sbatch", 1, "sbatch: error: QOSMaxWallDurationPerJobLimit\n" + policy);
  CHECK(too_long.message.find("--time") != std::string::npos);
  CHECK(is_about_time(too_long));
  const Failure too_wide = explain("sbatch", 1, "sbatch: error: QOSMaxCpuPerJobLimit\n" + policy);
  CHECK(too_wide.message.find("fewer cores") != std::string::npos);
  const Failure too_many =
      explain("sbatch", 1, "sbatch: error: QOSMaxSubmitJobPerUserLimit\n" + policy);
  CHECK(too_many.message.find("stop pilots") != std::string::npos);
  for (const Failure& one : {too_long, too_wide, too_many}) CHECK(one.code == ErrorCode::quota);
}

TEST_CASE("what Slurm says becomes an error that says what to do") {
  struct Row {
    const char* said;
    ErrorCode code;
  };
  for (const Row& row :
       {Row{"sbatch: error: invalid partition specified: nope\nsbatch: error: Batch job submission "
            "failed: Invalid partition name specified\n",
            ErrorCode::bad_request},
        Row{"sbatch: error: Batch job submission failed: Requested time limit is invalid (missing "
            "or exceeds some limit)\n",
            ErrorCode::quota},
        Row{"sbatch: error: QOSMaxSubmitJobPerUserLimit\nsbatch: error: Batch job submission "
            "failed: Job violates accounting/QOS policy (job submit limit, user's size and/or time "
            "limits)\n",
            ErrorCode::quota},
        Row{"sbatch: error: Batch job submission failed: Unable to contact slurm controller "
            "(connect failure)\n",
            ErrorCode::unreachable},
        Row{"sbatch: error: If munged is up, restart with --num-threads=10\n",
            ErrorCode::unauthenticated},
        Row{"sbatch: error: Batch job submission failed: Invalid account or account/partition "
            "combination specified\n",
            ErrorCode::bad_request},
        Row{"squeue: error: s_p_parse_file: cannot stat file /etc/slurm/slurm.conf: No such file\n",
            ErrorCode::unreachable},
        Row{"sbatch: error: something new\n", ErrorCode::system}}) {
    CAPTURE(row.said);
    const Failure failure = explain("sbatch", 1, row.said);
    CHECK(failure.code == row.code);
    CHECK(failure.message.find("sbatch: error:") == std::string::npos);
    CHECK(failure.message.size() > 20);
  }
  CHECK(explain("squeue", 9, "").message == "squeue ended with status 9: it gave no reason");
}

}  // namespace orchid::pilot
