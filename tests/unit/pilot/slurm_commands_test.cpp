// Slurm's commands played by shell scripts.
#include "pilot/slurm_commands.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "foundation/files.h"
#include "foundation/random.h"

namespace orchid::pilot {
namespace {

class Stage {
 public:
  Stage() { std::filesystem::create_directory(folder); }
  ~Stage() { std::filesystem::remove_all(folder); }
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  void play(const std::string& command, const std::string& script) const {
    const auto path = folder / command;
    std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }
  [[nodiscard]] SlurmCommands commands(
      std::chrono::milliseconds deadline = std::chrono::seconds(20)) const {
    return SlurmCommands({.folder = folder, .deadline = deadline});
  }
  [[nodiscard]] std::string text_of(const std::string& name) const {
    const auto content = read_file(folder / name, 1_MiB);
    return content ? std::string(as_text(*content)) : "";
  }

  std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("orchid-slurm-" + random_hex(6));
};

}  // namespace

TEST_CASE("a script is submitted over standard input, whatever it holds") {
  const Stage stage;
  stage.play("sbatch", "cat > " + (stage.folder / "got").string() + "; echo \"$@\" >&2; echo 17");
  const std::string script = "#!/bin/bash\n" + std::string(300'000, '#') + "\n'\"$(x)\n";
  CHECK(stage.commands().submit(script).value_or(0) == 17);
  CHECK(stage.text_of("got") == script);
}

TEST_CASE("jobs are listed and cancelled by user and name only") {
  const Stage stage;
  stage.play("squeue", "echo \"$@\" > " + (stage.folder / "asked").string() +
                           "; echo '5|RUNNING|idle|1|2|1:00|9:00|n1'");
  stage.play("scancel", "echo \"$@\" > " + (stage.folder / "told").string());
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
  const Stage stage;
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

TEST_CASE("without Slurm the error says so") {
  const SlurmCommands commands({});
  const auto refused = commands.submit("x");
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::unsupported);
  CHECK(refused.error().message.find("there is no Slurm here") != std::string::npos);
}

}  // namespace orchid::pilot
