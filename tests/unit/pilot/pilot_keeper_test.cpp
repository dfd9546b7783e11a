// What `orchid pilot keep` does with a gateway and a Slurm that are played.
#include "pilot/pilot_keeper.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pilot/pilot_logs.h"
#include "scratch_folder.h"
#include "slurm_stage.h"

namespace orchid::pilot {
namespace {

using nlohmann::json;
using std::chrono::seconds;

class Time final : public Clock {
 public:
  [[nodiscard]] MonotonicTime now() const override { return now_; }
  [[nodiscard]] WallTime wall_now() const override { return WallTime(seconds(1'000'000)); }
  void pass(seconds time) { now_ += time; }

 private:
  MonotonicTime now_{seconds(1'000)};
};

json free_node(const char* name, std::vector<std::string> partitions) {
  return {{"name", name},
          {"state", "usable"},
          {"cores", 4},
          {"cores_free", 4},
          {"partitions", std::move(partitions)}};
}

/// A gateway at which calls wait for four cores, a Slurm, and the keeper between them.
class KeptPilots {
 public:
  KeptPilots(std::string partition, std::string qos)
      : slurm_(stage.commands()), gate_(scratch_.path()) {
    stage.put("queue", "");
    stage.put("partitions", "PartitionName=batch Default=YES\nPartitionName=gpu Default=NO\n");
    stage.play("sbatch", "grep -e '^#SBATCH --nodelist' >> submitted; wc -l < submitted");
    stage.play("squeue", "cat queue");
    stage.play("scancel", "echo \"$@\" >> cancelled");
    stage.play("scontrol",
               "case $2 in config) echo; echo 'ClusterName = c';;\n"
               "partition) cat partitions;; job) cat \"job-$3\" || exit 1;; esac");
    keeper_.emplace(
        PilotKeeper::Options{.controller = {},
                             .request = {.job_name = "orchid-pilot-ab",
                                         .partition = std::move(partition),
                                         .qos = std::move(qos),
                                         .gateway = "login1:8080",
                                         .token_file = "/home/me/token",
                                         .program = "/opt/orchid/bin/orchid-executor",
                                         .log_file = scratch_ / "%j.log"}},
        PilotKeeper::Parts{.get = [this](const std::string& path) { return document(path); },
                           .slurm = slurm_,
                           .gate = gate_,
                           .clock = time_,
                           .say = [this](const std::string& line) { said += line + "\n"; }});
  }
  /// Looks for so long, every second.
  void go_on(seconds time) {
    for (; time.count() > 0; time -= seconds(1)) {
      REQUIRE(keeper_->look().has_value());
      time_.pass(seconds(1));
    }
  }
  [[nodiscard]] long submitted() const {
    const std::string text = stage.text_of("submitted");
    return std::ranges::count(text, '\n');
  }
  [[nodiscard]] bool is_in_trouble() const { return !noted_trouble(scratch_.path()).empty(); }

  SlurmStage stage;
  std::vector<json> nodes;
  std::string said;

 private:
  [[nodiscard]] std::string document(const std::string& path) const {
    const json demand = {{"cores_wanted", 4}};
    if (path == "/v1/demand") return demand.dump();
    const json cluster = {{"cluster", "c"}, {"state", "current"}, {"nodes", nodes}};
    return json{{"hosts", json::array()}, {"clusters", {cluster}}, {"demand", demand}}.dump();
  }

  tests::Scratch scratch_;
  SlurmCommands slurm_;
  SubmissionGate gate_;
  Time time_;
  std::optional<PilotKeeper> keeper_;
};

}  // namespace

TEST_CASE("a pilot that fails before it joins is said, and the next one comes later") {
  KeptPilots pilots("idle", "");
  pilots.nodes = {free_node("n1", {"idle"})};
  pilots.go_on(seconds(3));
  REQUIRE(pilots.submitted() == 1);
  pilots.stage.put("queue", "1|RUNNING|idle|1|4|0:00|1:00:00|n1\n");
  pilots.go_on(seconds(1));
  pilots.stage.put("job-1", "JobId=1 JobState=FAILED Reason=NonZeroExitCode BatchHost=n1\n");
  pilots.stage.put("queue", "");
  pilots.go_on(seconds(4));
  CHECK(pilots.is_in_trouble());
  CHECK_MESSAGE(pilots.said.find("pilot 1 has ended on n1, and its executor has never joined") !=
                    std::string::npos,
                pilots.said);
  CHECK(pilots.submitted() == 1);
  pilots.go_on(seconds(20));
  CHECK(pilots.submitted() == 1);  // not on this node
}

TEST_CASE("where Slurm knows no more of a pilot, it has failed") {
  KeptPilots pilots("idle", "");
  pilots.nodes = {free_node("n1", {"idle"})};
  pilots.go_on(seconds(8));
  CHECK(pilots.submitted() == 1);
  CHECK(pilots.is_in_trouble());
}

TEST_CASE("a pilot that waited too long, was cancelled or preempted, is no reason for a pause") {
  for (const char* state : {"DEADLINE", "CANCELLED", "PREEMPTED"}) {
    CAPTURE(state);
    KeptPilots pilots("idle", "");
    pilots.nodes = {free_node("n1", {"idle"})};
    pilots.go_on(seconds(3));
    REQUIRE(pilots.submitted() == 1);
    pilots.stage.put("job-1", std::string("JobId=1 JobState=") + state + " Reason=None\n");
    pilots.stage.put("queue", "");
    pilots.go_on(seconds(1));
    CHECK(pilots.submitted() == 2);
    CHECK_FALSE(pilots.is_in_trouble());
    CHECK_MESSAGE(pilots.said.find(std::string("Slurm says ") + state) != std::string::npos,
                  pilots.said);
  }
}

TEST_CASE(
    "a node that Slurm does not give is avoided, and the next one is asked for after a pause") {
  KeptPilots pilots("idle", "");
  pilots.nodes = {free_node("n1", {"idle"}), free_node("n2", {"idle"})};
  pilots.stage.play("sbatch",
                    "grep -e '^#SBATCH --nodelist' > this; cat this >> submitted\n"
                    "if grep -q n1 this; then echo 'sbatch: error: Batch job submission failed: "
                    "Requested node configuration is not available' >&2; exit 1; fi\n"
                    "echo '2|PENDING|idle|1|4|0:00|1:00:00|(Resources)' > queue; echo 2");
  pilots.go_on(seconds(4));
  CHECK(pilots.stage.text_of("submitted") == "#SBATCH --nodelist=n1\n");
  CHECK_MESSAGE(pilots.said.find("a pilot was refused") != std::string::npos, pilots.said);
  pilots.go_on(seconds(10));
  CHECK(pilots.stage.text_of("submitted") == "#SBATCH --nodelist=n1\n#SBATCH --nodelist=n2\n");
}

TEST_CASE("a refusal that is not about the node has a pause, and the node is asked for again") {
  KeptPilots pilots("idle", "");
  pilots.nodes = {free_node("n1", {"idle"}), free_node("n2", {"idle"})};
  pilots.stage.play("sbatch",
                    "grep -e '^#SBATCH --nodelist' >> submitted\n"
                    "echo 'sbatch: error: Batch job submission failed: Invalid account or "
                    "account/partition combination specified' >&2; exit 1");
  pilots.go_on(seconds(4));
  CHECK(pilots.stage.text_of("submitted") == "#SBATCH --nodelist=n1\n");
  pilots.go_on(seconds(6));
  CHECK(pilots.stage.text_of("submitted") == "#SBATCH --nodelist=n1\n#SBATCH --nodelist=n1\n");
}

TEST_CASE("when one pilot after the other is cancelled, the next one comes later") {
  KeptPilots pilots("idle", "");
  pilots.nodes = {free_node("n1", {"idle"})};
  for (int job = 1; job < 60; ++job)
    pilots.stage.put("job-" + std::to_string(job), "JobState=CANCELLED Reason=None\n");
  pilots.go_on(seconds(60));
  CHECK(pilots.submitted() > 3);
  CHECK(pilots.submitted() < 10);
  CHECK_FALSE(pilots.is_in_trouble());
}

TEST_CASE("pilots go to nodes of the partitions that are named, or of the default one") {
  const auto first_node = [](const char* partition, const char* qos) {
    KeptPilots pilots(partition, qos);
    pilots.nodes = {free_node("n1", {"gpu"}), free_node("n2", {"batch"}),
                    free_node("n3", {"debug"})};
    pilots.stage.put("queue", "");
    pilots.go_on(seconds(3));
    const std::string submitted = pilots.stage.text_of("submitted");
    return submitted.substr(0, submitted.find('\n'));
  };
  CHECK(first_node("", "low") == "#SBATCH --nodelist=n2");
  CHECK(first_node("debug,gpu", "") == "#SBATCH --nodelist=n1");
  CHECK(first_node("debug", "") == "#SBATCH --nodelist=n3");
}

TEST_CASE("a pilot that runs and never joins is cancelled, and others go to other nodes") {
  KeptPilots pilots("idle", "");
  pilots.nodes = {free_node("n1", {"idle"}), free_node("n2", {"idle"})};
  pilots.go_on(seconds(3));
  REQUIRE(pilots.stage.text_of("submitted") == "#SBATCH --nodelist=n1\n");
  pilots.stage.put("queue", "1|RUNNING|idle|1|4|0:00|1:00:00|n1\n");
  pilots.go_on(seconds(180));
  CHECK(pilots.stage.text_of("cancelled").empty());
  pilots.go_on(seconds(1));
  CHECK(pilots.stage.text_of("cancelled") == "--name=orchid-pilot-ab 1\n");
  CHECK(pilots.is_in_trouble());
  CHECK_MESSAGE(pilots.said.find("pilot 1 is cancelled: it runs on n1, and its executor has not "
                                 "joined within 180 s") != std::string::npos,
                pilots.said);
  CHECK_MESSAGE(pilots.said.find("/1.log says why") != std::string::npos, pilots.said);
  pilots.stage.put("queue", "1|COMPLETING|idle|1|4|1:05|1:00:00|n1\n");
  pilots.stage.put("job-1", "JobId=1 JobState=COMPLETING Reason=None BatchHost=n1\n");
  pilots.go_on(seconds(6));
  CHECK(pilots.stage.text_of("submitted") == "#SBATCH --nodelist=n1\n#SBATCH --nodelist=n2\n");
}

TEST_CASE("a pilot that ends before it joins has failed, though its node is being cleared still") {
  KeptPilots pilots("idle", "");
  pilots.nodes = {free_node("n1", {"idle"})};
  pilots.go_on(seconds(3));
  REQUIRE(pilots.submitted() == 1);
  pilots.stage.put("queue", "1|COMPLETING|idle|1|4|0:01|1:00:00|n1\n");
  pilots.stage.put("job-1", "JobId=1 JobState=COMPLETING Reason=NonZeroExitCode BatchHost=n1\n");
  pilots.go_on(seconds(4));
  CHECK(pilots.is_in_trouble());
  CHECK(pilots.submitted() == 1);
}

TEST_CASE("a pilot that is taken back is followed by another while its node is being cleared") {
  KeptPilots pilots("idle", "");
  pilots.nodes = {free_node("n1", {"idle"})};
  pilots.go_on(seconds(3));
  REQUIRE(pilots.submitted() == 1);
  pilots.stage.put("queue", "1|COMPLETING|idle|1|4|0:01|1:00:00|n1\n");
  pilots.stage.put("job-1", "JobId=1 JobState=COMPLETING Reason=None BatchHost=n1\n");
  pilots.go_on(seconds(1));
  CHECK(pilots.submitted() == 2);
  CHECK_FALSE(pilots.is_in_trouble());
}

TEST_CASE("while slurmctld does not answer it is asked less and less often, and then as before") {
  KeptPilots pilots("idle", "");
  pilots.nodes = {free_node("n1", {"idle"})};
  pilots.stage.play("squeue",
                    "echo >> asked\n"
                    "echo 'squeue: error: Unable to contact slurm controller' >&2; exit 1");
  const auto asked = [&] { return pilots.stage.text_of("asked").size(); };
  pilots.go_on(seconds(2 + 4 + 8));
  CHECK(asked() == 3);
  pilots.go_on(seconds(600));
  CHECK(asked() <= 3 + 600 / 60 + 3);
  CHECK(asked() >= 3 + 600 / 60);
  CHECK(pilots.submitted() == 0);
  pilots.stage.play("squeue", "echo >> asked; cat queue");
  pilots.go_on(seconds(63));
  CHECK(pilots.submitted() > 0);
  const auto before = asked();
  pilots.go_on(seconds(10));
  CHECK(asked() >= before + 10);
}

TEST_CASE("when somebody else has just submitted pilots it is decided anew") {
  KeptPilots pilots("idle", "");
  pilots.nodes = {free_node("n1", {"idle"})};
  pilots.go_on(seconds(2));
  REQUIRE(pilots.submitted() == 0);
  // Between the look at the queue and the submission.
  pilots.stage.play("squeue",
                    "cat queue; echo '7|PENDING|idle|1|4|0:00|1:00:00|(Resources)' > queue");
  pilots.go_on(seconds(5));
  CHECK(pilots.submitted() == 0);  // that one is on its way
  pilots.stage.play("squeue", "cat queue");
  pilots.stage.put("queue", "");
  pilots.go_on(seconds(4));
  CHECK(pilots.submitted() > 0);
}

}  // namespace orchid::pilot
