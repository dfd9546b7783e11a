#include "share/slurm_steps.h"

#include <fmt/format.h>

#include <utility>

#include "foundation/numbers.h"
#include "pilot/command_runner.h"
#include "pilot/slurm_words.h"

namespace orchid::share {
namespace {

/// From a job's start to that of the process which looks after its script; more is a wrong clock.
constexpr std::chrono::seconds longest_launch{60};
/// Of whole seconds here and there.
constexpr std::chrono::seconds rounding{2};

/// Without its end.
template <typename Visit>
void visit_lines(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    visit(line);
  }
}

/// Of "… NAME=VALUE …".
std::string_view value_in(std::string_view line, std::string_view name) {
  const auto at = line.find(name);
  if (at == std::string_view::npos) return {};
  line.remove_prefix(at + name.size());
  return line.substr(0, line.find(' '));
}

}  // namespace

Result<std::string> SlurmSteps::run(std::vector<std::string> words,
                                    const std::string& variable) const {
  if (options_.folder.empty())
    return fail(
        ErrorCode::unsupported,
        "Slurm's commands are not in PATH: a share needs them, since it is a step of a Slurm job");
  const std::string name = words[0];
  words[0] = options_.folder / name;
  if (!variable.empty()) words.insert(words.begin(), {"/usr/bin/env", variable});
  auto done = pilot::run_command(words, {}, options_.deadline);
  if (!done && done.error().code == ErrorCode::timed_out)
    return fail(ErrorCode::timed_out,
                fmt::format("{} has not ended within {} s: slurmctld does not answer; check with "
                            "'scontrol ping', and try again later",
                            name, options_.deadline.count() / 1000));
  if (!done) return fail(std::move(done.error()));
  if (done->status != 0) return fail(pilot::explain(name, done->status, done->errors));
  return std::move(done->output);
}

Result<std::vector<std::string>> SlurmSteps::shares(std::uint64_t job) const {
  auto told =
      run({"squeue", "--noheader", "--steps", fmt::format("--jobs={}", job), "--format=%i|%j"});
  if (!told) return fail(std::move(told.error()));
  return parse_shares(*told);
}

Result<void> SlurmSteps::end(const std::vector<std::string>& steps) const {
  if (steps.empty()) return {};
  std::vector<std::string> words{"scancel", "--signal=TERM"};
  words.insert(words.end(), steps.begin(), steps.end());
  auto told = run(std::move(words));
  if (!told) return fail(std::move(told.error()));
  return {};
}

Result<JobTimes> SlurmSteps::times(std::uint64_t job) const {
  auto told = run({"squeue", "--noheader", fmt::format("--jobs={}", job), "--format=%S|%e"},
                  "SLURM_TIME_FORMAT=%s");
  if (!told) return fail(std::move(told.error()));
  return parse_times(*told);
}

Result<NodePart> SlurmSteps::part_of(std::uint64_t job, const std::string& node) const {
  const auto told = run({"scontrol", "show", "job", "--details", std::to_string(job)});
  if (!told) return fail(told.error());
  for (NodePart& each : parse_node_parts(*told)) {
    auto names = run({"scontrol", "show", "hostnames", each.nodes});
    if (!names) return fail(std::move(names.error()));
    bool is_here = false;
    visit_lines(*names, [&](std::string_view name) { is_here = is_here || name == node; });
    if (is_here) return std::move(each);
  }
  return fail(ErrorCode::not_found, fmt::format("Slurm names no cores of job {} on {}", job, node));
}

Result<CoreList> SlurmSteps::cores(std::uint64_t job, const std::string& node) const {
  auto part = part_of(job, node);
  if (!part) return fail(std::move(part.error()));
  return std::move(part->cores);
}

Result<std::optional<ByteCount>> SlurmSteps::memory(std::uint64_t job,
                                                    const std::string& node) const {
  const auto part = part_of(job, node);
  if (!part) return fail(part.error());
  return part->memory.value == 0 ? std::nullopt : std::optional(part->memory);
}

Result<std::uint32_t> SlurmSteps::processors(const std::string& node) const {
  const auto told = run({"scontrol", "show", "node", node});
  if (!told) return fail(told.error());
  return parse_processors(*told);
}

std::vector<std::string> parse_shares(std::string_view text) {
  std::vector<std::string> steps;
  visit_lines(text, [&steps](std::string_view line) {
    const auto bar = line.find('|');
    if (bar != std::string_view::npos && line.substr(bar + 1) == step_name)
      steps.emplace_back(line.substr(0, bar));
  });
  return steps;
}

Result<JobTimes> parse_times(std::string_view text) {
  text = text.substr(0, text.find('\n'));
  const auto read = [](std::string_view number) -> std::optional<std::chrono::seconds> {
    const auto seconds = parse_number<std::int64_t>(number);
    if (!seconds || *seconds <= 0) return std::nullopt;
    return std::chrono::seconds(*seconds);
  };
  const auto bar = text.find('|');
  const auto starts = read(text.substr(0, bar));
  if (bar == std::string_view::npos || !starts)
    return fail(ErrorCode::internal, "squeue did not print the times of a running job: " +
                                         std::string(text.substr(0, 80)));
  JobTimes times{.starts = *starts, .ends = read(text.substr(bar + 1))};
  // So long a job without a limit may run, in Slurm's books.
  if (times.ends && *times.ends - times.starts >= std::chrono::hours(24 * 364)) times.ends.reset();
  return times;
}

std::optional<std::chrono::seconds> time_left(const JobTimes& times, std::chrono::seconds now,
                                              const std::optional<JobAge>& age) {
  if (!times.ends) return std::nullopt;
  std::chrono::seconds passed = now - times.starts;
  if (age) {
    const bool too_little = passed + rounding < age->at_least;
    const bool too_much = age->from_the_start && passed > age->at_least + longest_launch;
    if (too_little || too_much) passed = age->at_least;
  }
  return *times.ends - times.starts - passed;
}

std::vector<NodePart> parse_node_parts(std::string_view text) {
  std::vector<NodePart> found;
  visit_lines(text, [&found](std::string_view line) {
    const std::string_view nodes = value_in(line, " Nodes=");
    auto cores = parse_core_list(value_in(line, " CPU_IDs="));
    if (nodes.empty() || !cores || cores->empty()) return;
    const auto mib = leading_number<std::uint64_t>(value_in(line, " Mem=")).value_or(0);
    found.push_back({std::string(nodes), std::move(*cores), ByteCount{mib << 20}});
  });
  return found;
}

Result<std::uint32_t> parse_processors(std::string_view text) {
  std::uint32_t number = 0;
  visit_lines(text, [&number](std::string_view line) {
    number = leading_number<std::uint32_t>(value_in(line, " CPUTot=")).value_or(number);
  });
  if (number > 0) return number;
  return fail(ErrorCode::internal, "scontrol printed no number of processors");
}

}  // namespace orchid::share
