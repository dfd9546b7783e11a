#include "pilot/slurm_commands.h"

#include <fmt/format.h>
#include <unistd.h>

#include <string_view>

#include "pilot/slurm_words.h"

namespace orchid::pilot {

Result<std::string> SlurmCommands::run(const std::vector<std::string>& words,
                                       const std::string& input, Inherited inherited) const {
  if (options_.folder.empty())
    return fail(ErrorCode::unsupported,
                "there is no Slurm here: sbatch is not in PATH; start pilots on a login host of a "
                "cluster; 'orchid up' works without Slurm");
  std::vector<std::string> command = words;
  command[0] = (options_.folder / words[0]).string();
  auto done = run_command(command, input, options_.deadline, inherited);
  if (!done && done.error().code == ErrorCode::timed_out)
    return fail(
        ErrorCode::timed_out,
        fmt::format("{} has not ended within {} s: slurmctld does not answer, or slurm.conf cannot "
                    "be read; check with 'scontrol ping', and try again later",
                    words[0], options_.deadline.count() / 1000));
  if (!done) return fail(std::move(done.error()));
  if (done->status != 0) return fail(explain(words[0], done->status, done->errors));
  return std::move(done->output);
}

Result<std::string> SlurmCommands::cluster_name() const {
  auto told = run({"scontrol", "show", "config"}, {});
  if (!told) return fail(std::move(told.error()));
  return parse_cluster_name(*told);
}

Result<std::string> SlurmCommands::default_partition() const {
  auto told = run({"scontrol", "show", "partition", "--oneliner"}, {});
  if (!told) return fail(std::move(told.error()));
  return parse_default_partition(*told);
}

Result<std::string> SlurmCommands::state_of(std::uint64_t job) const {
  auto told = run({"scontrol", "show", "job", std::to_string(job), "--oneliner"}, {});
  if (!told) return fail(std::move(told.error()));
  return parse_job_state(*told);
}

Result<std::uint64_t> SlurmCommands::submit(const std::string& script) const {
  // The script says --export=NIL. Releases that do not know the word take it for a variable, and
  // start a login shell on the node to learn the user's environment, which takes 0.2 to 1.2 s.
  auto told = run({"sbatch", "--parsable", "--export=ALL"}, script, Inherited::needs);
  if (!told) return fail(std::move(told.error()));
  return parse_job_number(*told);
}

Result<std::vector<PilotJob>> SlurmCommands::list(const std::string& job_name) const {
  auto told = run({"squeue", "--noheader", "--user=" + std::to_string(::getuid()),
                   "--name=" + job_name, "--format=" + std::string(queue_format)},
                  {});
  if (!told) return fail(std::move(told.error()));
  return parse_queue(*told);
}

Result<void> SlurmCommands::cancel(const std::string& job_name,
                                   const std::vector<std::uint64_t>& jobs) const {
  if (jobs.empty()) return {};
  std::vector<std::string> words{"scancel", "--name=" + job_name};
  for (const std::uint64_t job : jobs) words.push_back(std::to_string(job));
  auto told = run(words, {});
  if (!told) return fail(std::move(told.error()));
  return {};
}

}  // namespace orchid::pilot
