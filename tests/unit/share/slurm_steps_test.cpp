#include "share/slurm_steps.h"

#include <doctest/doctest.h>

namespace orchid::share {

TEST_CASE("a job's shares are told from its other steps by their name") {
  CHECK(parse_shares("17.batch|batch\n17.0|orchid-share\n17.3|a.out\n17.4|orchid-share-not\n") ==
        std::vector<std::string>{"17.0"});
  CHECK(parse_shares("").empty());
}

TEST_CASE("a job's remaining time is read as squeue writes it") {
  using std::chrono::seconds;
  const auto read = [](const char* text) { return parse_time_left(text).value(); };
  CHECK(read("9:37\n") == seconds(577));
  CHECK(read("0:00\n") == seconds(0));
  CHECK(read("1:02:03\n") == seconds(3723));
  CHECK(read("2-01:02:03\n") == seconds(176'523));
  CHECK_FALSE(read("UNLIMITED\n").has_value());
  CHECK_FALSE(read("365-00:00:00\n").has_value());  // the same, just after the job's start
  for (const char* text : {"", "INVALID\n", "1:2:3:4:5\n", "1:x\n"})
    CHECK(parse_time_left(text).error().code == ErrorCode::internal);
}

TEST_CASE("the cores of a job on its nodes are read from its details") {
  const auto found = parse_node_cores(
      "JobId=17 JobName=wrap\n"
      "   NumNodes=3 NumCPUs=7 NumTasks=7 CPUs/Task=1\n"
      "   JOB_GRES=(null)\n"
      "     Nodes=n[1-2] CPU_IDs=0-1,5 Mem=3072 GRES=\n"
      "     Nodes=n4 CPU_IDs=0 Mem=1024 GRES=\n"
      "   MinCPUsNode=1 MinMemoryCPU=1G MinTmpDiskNode=0\n");
  REQUIRE(found.size() == 2);
  CHECK(found[0].nodes == "n[1-2]");
  CHECK(found[0].cores == CoreList{0, 1, 5});
  CHECK(found[1].nodes == "n4");
  CHECK(found[1].cores == CoreList{0});
}

TEST_CASE("without Slurm's commands there is no step") {
  const SlurmSteps none({.folder = {}});
  CHECK(none.shares(17).error().code == ErrorCode::unsupported);
  const SlurmSteps elsewhere({.folder = "/nonexistent"});
  CHECK(elsewhere.shares(17).error().message.find("squeue") != std::string::npos);
}

}  // namespace orchid::share
