#include "share/slurm_steps.h"

#include <doctest/doctest.h>

namespace orchid::share {

using std::chrono::seconds;

TEST_CASE("a job's shares are told from its other steps by their name") {
  CHECK(parse_shares("17.batch|batch\n17.0|orchid-share\n17.3|a.out\n17.4|orchid-share-not\n") ==
        std::vector<std::string>{"17.0"});
  CHECK(parse_shares("").empty());
}

TEST_CASE("a job's start and end are read as squeue prints them") {
  CHECK(parse_times("1700000000|1700003600\n").value() ==
        JobTimes{.starts = seconds(1'700'000'000), .ends = seconds(1'700'003'600)});
  CHECK_FALSE(parse_times("1700000000|1731536000\n").value().ends.has_value());  // without a limit
  CHECK_FALSE(parse_times("1700000000|NONE\n").value().ends.has_value());
  for (const char* text : {"", "N/A|N/A\n", "1700000000\n", "2026-11-22T10:00:00|1700003600\n"})
    CHECK(parse_times(text).error().code == ErrorCode::internal);
}

TEST_CASE("a job's remaining time is what slurmctld and the node's processes agree upon") {
  const JobTimes times{.starts = seconds(10'000), .ends = seconds(10'600)};
  const JobAge script{.at_least = seconds(100), .from_the_start = true};
  const JobAge step{.at_least = seconds(100), .from_the_start = false};
  CHECK(time_left(times, seconds(10'110), script) == seconds(490));  // it was launched in 10 s
  CHECK(time_left(times, seconds(10'110), std::nullopt) == seconds(490));
  // This node's clock is an hour ahead, or behind.
  CHECK(time_left(times, seconds(13'710), script) == seconds(500));
  CHECK(time_left(times, seconds(6'510), script) == seconds(500));
  CHECK(time_left(times, seconds(6'510), step) == seconds(500));
  // A step may have begun long after its job.
  CHECK(time_left(times, seconds(10'300), step) == seconds(300));
  CHECK_FALSE(time_left({.starts = seconds(10'000), .ends = {}}, seconds(10'110), script));
}

TEST_CASE("cores and memory of a job on its nodes are read from its details") {
  const auto found = parse_node_parts(
      "JobId=17 JobName=wrap\n"
      "   NumNodes=3 NumCPUs=7 NumTasks=7 CPUs/Task=1\n"
      "   JOB_GRES=(null)\n"
      "     Nodes=n[1-2] CPU_IDs=0-1,5 Mem=3072 GRES=\n"
      "     Nodes=n4 CPU_IDs=0 Mem=0 GRES=\n"
      "   MinCPUsNode=1 MinMemoryCPU=1G MinTmpDiskNode=0\n");
  REQUIRE(found.size() == 2);
  CHECK(found[0].nodes == "n[1-2]");
  CHECK(found[0].cores == CoreList{0, 1, 5});
  CHECK(found[0].memory == 3_GiB);
  CHECK(found[1].nodes == "n4");
  CHECK(found[1].cores == CoreList{0});
  CHECK(found[1].memory == ByteCount{});  // nobody counts it
}

TEST_CASE("the processors that Slurm counts on a node are read from what it says of it") {
  CHECK(parse_processors("NodeName=n1 Arch=x86_64 CoresPerSocket=4 \n"
                         "   CPUAlloc=3 CPUEfctv=14 CPUTot=16 CPULoad=0.25\n")
            .value() == 16);
  CHECK(parse_processors("Node n9 not found\n").error().code == ErrorCode::internal);
}

TEST_CASE("without Slurm's commands there is no step") {
  const SlurmSteps none({.folder = {}});
  CHECK(none.shares(17).error().code == ErrorCode::unsupported);
  const SlurmSteps elsewhere({.folder = "/nonexistent"});
  CHECK(elsewhere.times(17).error().message.find("squeue") != std::string::npos);
  CHECK(elsewhere.shares(17).error().message.find("squeue") != std::string::npos);
}

}  // namespace orchid::share
