// Slurm's commands played by shell scripts.
#include "pilot/slurm_commands.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>

#include "slurm_stage.h"

namespace orchid::pilot {

TEST_CASE("a script is submitted over standard input, whatever it holds") {
  const SlurmStage stage;
  stage.play("sbatch", "cat > got; echo \"$@\" >&2; echo 17");
  const std::string script = "#!/bin/bash\n" + std::string(300'000, '#') + "\n'\"$(x)\n";
  CHECK(stage.commands().submit(script).value_or(0) == 17);
  CHECK(stage.text_of("got") == script);
}

TEST_CASE("jobs are listed and cancelled by user and name only") {
  const SlurmStage stage;
  stage.play("squeue", "echo \"$@\" > asked; echo '5|RUNNING|idle|1|2|1:00|9:00|n1'");
  stage.play("scancel", "echo \"$@\" > told");
  const auto jobs = stage.commands().list("orchid-pilot-ab");
  REQUIRE(jobs.has_value());
  CHECK(jobs->size() == 1);
  CHECK(stage.text_of("asked").find("--user=" + std::to_string(::getuid())) != std::string::npos);
  CHECK(stage.text_of("asked").find("--name=orchid-pilot-ab") != std::string::npos);
  CHECK(stage.commands().cancel("orchid-pilot-ab", {5, 6}).has_value());
  CHECK(stage.text_of("told") == "--name=orchid-pilot-ab 5 6\n");
  CHECK(stage.commands().cancel("orchid-pilot-ab", {}).has_value());
}

TEST_CASE("a command that fails, hangs or prints without end is an error") {
  const SlurmStage stage;
  stage.play("sbatch",
             "echo 'sbatch: error: Batch job submission failed: Invalid partition name specified' "
             ">&2; exit 1");
  const auto refused = stage.commands().submit("x");
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::bad_request);
  CHECK(refused.error().message.find("--partition") != std::string::npos);

  stage.play("sbatch", "exec sleep 100");
  const auto late = stage.commands(std::chrono::milliseconds(100)).submit("x");
  REQUIRE_FALSE(late.has_value());
  CHECK(late.error().code == ErrorCode::timed_out);

  stage.play("squeue", "while echo 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'; do :; done");
  CHECK(stage.commands().list("x").error().code == ErrorCode::too_large);
}

TEST_CASE("a job's own variables do not become options of pilots that are submitted from it") {
  const SlurmStage stage;
  stage.play("sbatch", "env > got; echo 17");
  ::setenv("SLURM_MEM_PER_CPU", "100", 1);
  ::setenv("SLURM_JOB_ID", "3", 1);
  ::setenv("SBATCH_PARTITION", "batch", 1);
  ::setenv("SLURM_CONF", "/etc/slurm/slurm.conf", 1);
  CHECK(stage.commands().submit("x").has_value());
  for (const char* name : {"SLURM_MEM_PER_CPU", "SLURM_JOB_ID", "SBATCH_PARTITION", "SLURM_CONF"})
    ::unsetenv(name);
  const std::string variables = "\n" + stage.text_of("got");
  for (const char* name : {"SLURM_MEM_PER_CPU", "SLURM_JOB_ID", "SBATCH_PARTITION"})
    CHECK_MESSAGE(variables.find(std::string("\n") + name) == std::string::npos, name);
  for (const char* name : {"\nSLURM_CONF=/etc/slurm/slurm.conf\n", "\nPATH=", "\nLC_ALL=C\n"})
    CHECK_MESSAGE(variables.find(name) != std::string::npos, name);
}

TEST_CASE("what has closed its output and goes on is killed at the deadline") {
  const SlurmStage stage;
  stage.play("squeue", "exec >&- 2>&-; exec sleep 100");
  const auto jobs = stage.commands(std::chrono::milliseconds(100)).list("x");
  REQUIRE_FALSE(jobs.has_value());
  CHECK(jobs.error().code == ErrorCode::timed_out);
}

TEST_CASE("the default partition and the state of a job that has ended are asked for") {
  const SlurmStage stage;
  stage.play("scontrol",
             "case \"$*\" in\n"
             "  'show partition --oneliner') echo 'PartitionName=idle Default=NO State=UP'\n"
             "    echo 'PartitionName=batch AllowGroups=ALL Default=YES DefaultTime=NONE';;\n"
             "  'show job 7 --oneliner') echo 'JobId=7 JobName=x JobState=DEADLINE Reason=x';;\n"
             "  *) echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1;;\n"
             "esac");
  CHECK(stage.commands().default_partition().value_or("") == "batch");
  CHECK(stage.commands().state_of(7).value_or("") == "DEADLINE");
  CHECK_FALSE(stage.commands().state_of(8).has_value());
}

TEST_CASE("without Slurm the error says so") {
  const SlurmCommands commands({});
  const auto refused = commands.submit("x");
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::unsupported);
  CHECK(refused.error().message.find("there is no Slurm here") != std::string::npos);
}

}  // namespace orchid::pilot
