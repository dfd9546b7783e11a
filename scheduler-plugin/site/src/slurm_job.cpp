#include "site/slurm_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "foundation/numbers.h"
#include "pilot/command_runner.h"
#include "pilot/slurm_words.h"

namespace orchid::site {
namespace {

constexpr std::size_t most_kinds = 64;  // of nodes in one job, by the cores that it has there

/// What follows "NAME=", if that stands once in the text, up to the next blank.
std::optional<std::string_view> only_value(std::string_view text, std::string_view name) {
  const std::size_t at = text.find(name);
  if (at == std::string_view::npos || text.find(name, at + 1) != std::string_view::npos)
    return std::nullopt;
  text.remove_prefix(at + name.size());
  return text.substr(0, text.find_first_of(" \n"));
}

template <typename Number>
std::optional<Number> number_of(std::optional<std::string_view> text) {
  return text ? parse_number<Number>(*text) : std::nullopt;
}

/// Of "alice(1000)": 1000.
std::optional<uid_t> uid_in(std::optional<std::string_view> user) {
  if (!user || !user->ends_with(')')) return std::nullopt;
  const std::size_t open = user->rfind('(');
  if (open == std::string_view::npos) return std::nullopt;
  return number_of<uid_t>(user->substr(open + 1, user->size() - open - 2));
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (!line.empty()) lines.emplace_back(line);
  }
  return lines;
}

Failure other_cores() {
  return {ErrorCode::denied,
          "Slurm's text names more or fewer cores than the job has: its name, comment or paths "
          "hold words such as 'CPU_IDs=', or Slurm counts in another way here; with "
          "ConstrainCores=yes in cgroup.conf orchid-host does not have to ask Slurm"};
}

Result<std::string> scontrol(const SlurmQuestion& question, std::vector<std::string> words) {
  words.insert(words.begin(), {(question.commands / "scontrol").string(), "show"});
  auto done = pilot::run_command(words, {}, question.deadline);
  if (!done) return fail(std::move(done.error()).while_doing("asking Slurm"));
  if (done->status != 0) return fail(pilot::explain("scontrol", done->status, done->errors));
  return std::move(done->output);
}

}  // namespace

Result<SlurmJob> parse_slurm_job(std::string_view text) {
  const auto state = only_value(text, " JobState=");
  const auto uid = uid_in(only_value(text, " UserId="));
  const auto cpus = number_of<std::size_t>(only_value(text, " NumCPUs="));
  if (!state || !uid || !cpus)
    return fail(ErrorCode::denied,
                "what Slurm says of the job is ambiguous: its name, comment or paths hold words "
                "such as 'UserId='");
  if (*state != "RUNNING")
    return fail(ErrorCode::denied, fmt::format("the job does not run: Slurm calls it {}", *state));
  return SlurmJob{.uid = *uid, .cpus = *cpus, .nodes = share::parse_node_parts(text)};
}

Result<CoreList> cores_on(const std::string& node, const SlurmJob& job,
                          const std::vector<std::vector<std::string>>& names) {
  const CoreList* here = nullptr;
  std::size_t counted = 0;
  for (std::size_t i = 0; i < job.nodes.size() && i < names.size(); ++i) {
    counted += job.nodes[i].cores.size() * names[i].size();
    if (std::ranges::find(names[i], node) == names[i].end()) continue;
    if (here != nullptr) return fail(other_cores());
    here = &job.nodes[i].cores;
  }
  if (counted != job.cpus) return fail(other_cores());
  if (here == nullptr)
    return fail(ErrorCode::not_found, "the job has no cores on " + node +
                                          ", which is Slurm's name of this host (--node)");
  return *here;
}

Result<JobOnNode> ask_slurm(const SlurmQuestion& question) {
  const auto text = scontrol(question, {"job", "--details", std::to_string(question.job)});
  if (!text) return fail(text.error());
  const auto job = parse_slurm_job(*text);
  if (!job) return fail(job.error());
  if (job->nodes.size() > most_kinds) return fail(other_cores());
  std::vector<std::vector<std::string>> names;
  for (const share::NodePart& each : job->nodes) {
    const auto expanded = scontrol(question, {"hostnames", each.nodes});
    if (!expanded) return fail(expanded.error());
    names.push_back(lines_of(*expanded));
  }
  auto cores = cores_on(question.node, *job, names);
  if (!cores) return fail(std::move(cores.error()));
  const auto node = scontrol(question, {"node", question.node});
  if (!node) return fail(node.error());
  return JobOnNode{.uid = job->uid,
                   .cores = std::move(*cores),
                   .count = number_of<std::uint32_t>(only_value(*node, " CPUTot=")).value_or(0)};
}

}  // namespace orchid::site
