#include "pilot/slurm_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "foundation/numbers.h"

namespace orchid::pilot {
namespace {

constexpr std::size_t columns = 8;

/// Its words, without the names that each line begins with.
std::string tidy(std::string_view errors) {
  std::string words;
  while (!errors.empty()) {
    const std::size_t end = std::min(errors.find('\n'), errors.size());
    std::string_view line = errors.substr(0, end);
    errors.remove_prefix(std::min(end + 1, errors.size()));
    for (const std::string_view prefix :
         {"sbatch: ", "squeue: ", "scancel: ", "error: ", "fatal: "})
      if (line.starts_with(prefix)) line.remove_prefix(prefix.size());
    if (line.empty()) continue;
    if (!words.empty()) words += "; ";
    words += line;
  }
  if (words.size() > 500) words.resize(500);
  return words;
}

/// Of "NAME=VALUE" between blanks. "": there is none.
std::string_view value_in(std::string_view line, std::string_view name) {
  for (std::size_t at = 0; (at = line.find(name, at)) != std::string_view::npos; ++at) {
    const std::size_t begin = at + name.size();
    if ((at != 0 && line[at - 1] != ' ') || begin >= line.size() || line[begin] != '=') continue;
    const std::string_view value = line.substr(begin + 1);
    return value.substr(0, value.find_first_of(" \n"));
  }
  return {};
}

constexpr std::string_view another_munge =
    "munge must run here with the cluster's key, and a clock that agrees with the cluster's; an "
    "administrator must repair it";
constexpr std::string_view shorter =
    "ask for less with --time; 'sinfo' shows the partition's limit";
constexpr std::string_view fewer_nodes =
    "the partition has fewer nodes, or allows fewer; ask for less with --nodes";

struct Explanation {
  std::string_view words;  // a part of what Slurm says
  ErrorCode code;
  std::string_view advice;
};
constexpr std::array explanations{
    Explanation{"Invalid partition name", ErrorCode::bad_request,
                "'sinfo --summarize' lists the partitions; name one with --partition"},
    Explanation{"Invalid qos", ErrorCode::bad_request,
                "'sacctmgr show assoc user=$USER format=account,partition,qos' lists yours"},
    Explanation{"Invalid account", ErrorCode::bad_request,
                "'sacctmgr show assoc user=$USER format=account,partition,qos' lists yours"},
    Explanation{"No partition specified", ErrorCode::bad_request, "name one with --partition"},
    Explanation{"nodes not in this partition", ErrorCode::bad_request,
                "'sinfo' shows which nodes a partition has; name another one with --partition"},
    Explanation{"time limit is invalid", ErrorCode::quota, shorter},
    Explanation{"policy", ErrorCode::quota,
                "you have reached a limit: stop pilots, or ask for smaller ones"},
    Explanation{"Limit", ErrorCode::quota,
                "you have reached a limit: stop pilots, or ask for smaller ones"},
    Explanation{"node configuration is not available", ErrorCode::bad_request,
                "no node of the partition has so many cores or so much memory; ask for less"},
    Explanation{"Node count specification invalid", ErrorCode::bad_request, fewer_nodes},
    Explanation{"More processors requested", ErrorCode::bad_request, "ask for less with --cores"},
    Explanation{"Invalid --time", ErrorCode::bad_request, "write it as 10m or 01:30:00"},
    Explanation{"Access/permission denied", ErrorCode::denied, "the site does not allow it"},
    Explanation{"not permitted to use this partition", ErrorCode::denied,
                "the site does not let you use this partition; choose another one"},
    Explanation{"nvalid authentication credential", ErrorCode::unauthenticated, another_munge},
    Explanation{"Protocol authentication error", ErrorCode::unauthenticated, another_munge},
    Explanation{"unge", ErrorCode::unauthenticated, another_munge},
    Explanation{"Zero Bytes were transmitted", ErrorCode::unauthenticated, another_munge},
    Explanation{"Unable to contact slurm controller", ErrorCode::unreachable,
                "slurmctld does not answer; what runs continues; check with 'scontrol ping', and "
                "try again later"},
    Explanation{"slurm.conf", ErrorCode::unreachable,
                "this host has no usable slurm.conf; is it a login or submit host?"},
    Explanation{"process configuration", ErrorCode::unreachable,
                "this host has no usable slurm.conf; is it a login or submit host?"},
};

constexpr std::array words_about_time{std::string_view("time limit is invalid"),
                                      std::string_view("PartitionTimeLimit"),
                                      std::string_view("MaxWallDurationPerJob")};
constexpr std::array words_about_node{std::string_view("nodes not in this partition"),
                                      std::string_view("node configuration is not available"),
                                      std::string_view("BadConstraints")};

constexpr std::string_view smaller =
    "ask for fewer cores, less memory or fewer nodes: the limit for each of your jobs is lower";
constexpr std::array reasons_for_ever{
    Explanation{"PartitionTimeLimit", ErrorCode::quota, shorter},
    Explanation{"MaxWallDurationPerJob", ErrorCode::quota,
                "ask for less with --time; your account or QOS allows no more for a job"},
    Explanation{"PartitionNodeLimit", ErrorCode::quota, fewer_nodes},
    Explanation{"AccountNotAllowed", ErrorCode::denied,
                "your account may not use the partition; choose another partition or account"},
    Explanation{"QOSNotAllowed", ErrorCode::denied,
                "the partition does not allow this QOS; choose another partition or QOS"},
    Explanation{"InvalidAccount", ErrorCode::bad_request, "name another one with --account"},
    Explanation{"InvalidQOS", ErrorCode::bad_request, "name another one with --qos"},
    Explanation{"BadConstraints", ErrorCode::bad_request,
                "no node has everything that you ask for; ask for less"},
    Explanation{"PerJob", ErrorCode::quota, smaller},
    Explanation{"PerNode", ErrorCode::quota, smaller},
    Explanation{"QOSMin", ErrorCode::quota, "the QOS requires larger jobs; choose another one"},
};

/// The first row whose words `said` has; null: none.
const Explanation* find_in(std::span<const Explanation> table, std::string_view said) {
  const auto found = std::ranges::find_if(
      table, [said](const Explanation& row) { return said.contains(row.words); });
  return found == table.end() ? nullptr : &*found;
}

bool has_one_of(std::span<const std::string_view> words, const Failure& refusal) {
  return std::ranges::any_of(words,
                             [&](std::string_view one) { return refusal.message.contains(one); });
}

}  // namespace

const std::string_view queue_format = "%A|%T|%P|%D|%C|%M|%L|%R";

Result<std::vector<PilotJob>> parse_queue(std::string_view text) {
  std::vector<PilotJob> jobs;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    std::array<std::string_view, columns> cells;
    for (std::size_t i = 0; i < columns; ++i) {
      const bool last = i + 1 == columns;  // a reason may have any sign
      const std::size_t bar = last ? line.size() : line.find('|');
      if (bar == std::string_view::npos) break;
      cells.at(i) = line.substr(0, bar);
      line.remove_prefix(std::min(bar + 1, line.size()));
    }
    PilotJob job{.job = 0,
                 .state = std::string(cells[1]),
                 .partition = std::string(cells[2]),
                 .elapsed = std::string(cells[5]),
                 .left = std::string(cells[6]),
                 .reason = std::string(cells[7])};
    const auto number = parse_number<std::uint64_t>(cells[0]);
    const auto nodes = parse_number<std::uint32_t>(cells[3]);
    const auto cpus = parse_number<std::uint32_t>(cells[4]);
    if (!number || !nodes || !cpus)
      return fail(ErrorCode::internal, "squeue printed a line that is not a job: " +
                                           std::string(cells[0].substr(0, 80)));
    job.job = *number;
    job.nodes = *nodes;
    job.cpus = *cpus;
    jobs.push_back(std::move(job));
  }
  std::ranges::sort(jobs, {}, &PilotJob::job);
  return jobs;
}

Result<std::string> parse_cluster_name(std::string_view text) {
  constexpr std::string_view key = "\nClusterName";
  constexpr std::string_view blanks = " =\t";
  if (const auto at = text.find(key); at != std::string_view::npos) {
    text.remove_prefix(at + key.size());
    text = text.substr(0, text.find('\n'));
    const auto begin = text.find_first_not_of(blanks);
    if (begin != std::string_view::npos)
      return std::string(text.substr(begin, text.find_last_not_of(blanks) + 1 - begin));
  }
  return fail(ErrorCode::internal, "scontrol printed no ClusterName");
}

std::string parse_default_partition(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (value_in(line, "Default") == "YES") return std::string(value_in(line, "PartitionName"));
  }
  return {};
}

Result<std::string> parse_job_state(std::string_view text) {
  const std::string_view state = value_in(text, "JobState");
  const std::string_view reason = value_in(text, "Reason");
  if (state == "COMPLETING" && !reason.empty() && reason != "None")
    return std::string(reason == "DeadLine" ? "DEADLINE" : "FAILED");
  if (!state.empty()) return std::string(state);
  return fail(ErrorCode::internal, "scontrol printed no JobState");
}

bool has_failed(std::string_view state) {
  constexpr std::array<std::string_view, 5> unwanted{"CANCELLED", "COMPLETING", "DEADLINE",
                                                     "PREEMPTED", "REVOKED"};
  return std::ranges::find(unwanted, state) == unwanted.end();
}

Result<std::uint64_t> parse_job_number(std::string_view text) {
  // "17", or "17;cluster"
  const std::string_view first = text.substr(0, text.find_first_of(";\n"));
  const auto number = parse_number<std::uint64_t>(first);
  if (number && *number != 0) return *number;
  return fail(ErrorCode::internal,
              "sbatch printed no job number: " + std::string(text.substr(0, 80)));
}

std::optional<Failure> never_starts(const PilotJob& job) {
  if (!job.waits()) return std::nullopt;
  const Explanation* known = find_in(reasons_for_ever, job.reason);
  if (known == nullptr) return std::nullopt;
  // Of several partitions it is the last one's that Slurm has looked at.
  if (job.partition.find(',') != std::string::npos) return std::nullopt;
  return Failure{known->code, fmt::format("pilot {} would wait for ever: Slurm says {}; {}",
                                          job.job, job.reason, known->advice)};
}

Failure explain(std::string_view command, int status, std::string_view errors) {
  const std::string words = tidy(errors);
  // Where a QOS denies what is over its limits, the reason that would be for ever is named.
  const Explanation* known = find_in(reasons_for_ever, errors);
  if (known == nullptr) known = find_in(explanations, errors);
  if (known != nullptr)
    return {known->code, fmt::format("Slurm says: {}. {}", words, known->advice)};
  return {ErrorCode::system, fmt::format("{} ended with status {}: {}", command, status,
                                         words.empty() ? "it gave no reason" : words)};
}

bool reason_is_to_come(const PilotJob& job) {
  return job.waits() &&
         (job.reason == "(None)" || job.reason.find("PartitionConfig") != std::string::npos);
}

bool is_about_time(const Failure& refusal) { return has_one_of(words_about_time, refusal); }

bool is_about_node(const Failure& refusal) { return has_one_of(words_about_node, refusal); }

}  // namespace orchid::pilot
