#include "pilot/submission.h"

#include <doctest/doctest.h>

#include "scratch_folder.h"
#include "slurm_stage.h"

namespace orchid::pilot {
namespace {

/// A Slurm that takes every script, and has so many pilots in its queue already.
class SubmittingCluster {
 public:
  explicit SubmittingCluster(const std::string& queue) : gate_(scratch_.path()) {
    stage.put("queue", queue);
    stage.put("submitted", "");
    stage.play("sbatch",
               "cat > /dev/null; echo x >> submitted; echo $((10 + $(wc -l < submitted)))");
    stage.play("squeue", "cat queue; if test -s submitted; then cat reason; fi");
    stage.play("scancel", "echo \"$@\" >> cancelled");
    stage.put("reason", "");
  }
  Result<Submitted> submit(unsigned count, unsigned most) {
    return submit_pilots(stage.commands(), gate_,
                         {.job_name = "orchid-pilot-ab",
                          .script = "#!/bin/sh\n",
                          .count = count,
                          .most = most,
                          .say = [this](const std::string& line) { said += line; }});
  }
  SlurmStage stage;
  std::string said;

 private:
  tests::Scratch scratch_;
  SubmissionGate gate_;
};

}  // namespace

TEST_CASE("no more pilots are submitted than there may be") {
  SubmittingCluster cluster("1|RUNNING|idle|1|4|0:00|1:00:00|n1\n");
  const auto submitted = cluster.submit(5, 3);
  REQUIRE_MESSAGE(submitted.has_value(), submitted.error().message);
  CHECK(submitted->jobs == std::vector<std::uint64_t>{11, 12});
  CHECK(submitted->trouble.has_value());
  CHECK(cluster.said.find("leaves room for 2 more") != std::string::npos);
  CHECK(cluster.submit(1, 1).error().code == ErrorCode::quota);
}

TEST_CASE("pilots that Slurm says it never starts are cancelled") {
  SubmittingCluster cluster("");
  cluster.stage.put("reason", "11|PENDING|idle|1|4|0:00|1:00:00|(PartitionTimeLimit)\n");
  CHECK_FALSE(cluster.submit(2, 8).has_value());
  const std::string cancelled = cluster.stage.text_of("cancelled");
  CHECK_MESSAGE(
      (cancelled.find("11") != std::string::npos && cancelled.find("12") != std::string::npos),
      cancelled);
}

}  // namespace orchid::pilot
