#include "pilot/command_runner.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "foundation/units.h"
#include "processes/run_to_end.h"

namespace orchid::pilot {
namespace {

constexpr ByteCount most_output = 4_MiB;
constexpr ByteCount most_errors = 64_KiB;

bool begins_with_one_of(std::string_view text, std::span<const std::string_view> beginnings) {
  return std::ranges::any_of(
      beginnings, [text](std::string_view beginning) { return text.starts_with(beginning); });
}

/// Slurm's messages shall be the ones that we know, and its options ours.
constexpr std::array<std::string_view, 6> never{
    "LC_", "LANG=", "LANGUAGE=", "SBATCH_", "SQUEUE_", "SCANCEL_"};
/// Of Slurm's own only what names the cluster and the user: a job's others would be the options of
/// jobs that are submitted from within it.
constexpr std::array<std::string_view, 10> needs{
    "PATH=",       "LD_LIBRARY_PATH=",   "HOME=",           "USER=",     "LOGNAME=", "SHELL=",
    "SLURM_CONF=", "SLURM_CONF_SERVER=", "SLURM_CLUSTERS=", "SLURM_JWT="};

std::vector<std::string> environment_of(Inherited inherited) {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (begins_with_one_of(text, never)) continue;
    if (inherited == Inherited::all || begins_with_one_of(text, needs))
      variables.emplace_back(text);
  }
  variables.emplace_back("LC_ALL=C");
  return variables;
}

}  // namespace

Result<CommandOutput> run_command(const std::vector<std::string>& words, const std::string& input,
                                  std::chrono::milliseconds deadline, Inherited inherited) {
  auto result = processes::run_to_end({.program = words.at(0),
                                       .arguments = {words.begin() + 1, words.end()},
                                       .environment = environment_of(inherited),
                                       .default_signals = true},
                                      {.longest = deadline,
                                       .input = input,
                                       .most_output = most_output,
                                       .most_errors = most_errors});
  if (!result) return fail(std::move(result.error()));
  if (!result->end) return fail(ErrorCode::timed_out, words[0] + " did not end in time");
  return CommandOutput{.status = result->end->shell_status(),
                       .output = std::move(result->output),
                       .errors = std::move(result->errors)};
}

}  // namespace orchid::pilot
