#include "share/job_processes.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <memory>
#include <utility>

#include "foundation/numbers.h"
#include "foundation/unique_fd.h"

namespace orchid::share {
namespace {

constexpr std::chrono::milliseconds first_question{50};
constexpr std::chrono::seconds last_question{10};
constexpr std::chrono::seconds new_for{1};
constexpr unsigned most_ancestors = 64;

/// Nothing: it has ended, or is not for us to see.
std::optional<std::string> read_all(const std::string& path) {
  constexpr std::size_t most = 4U << 20;
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return std::nullopt;
  std::string text;
  std::array<char, 4096> part;
  while (text.size() < most) {
    const ssize_t count = ::read(file.get(), part.data(), part.size());
    if (count < 0) return std::nullopt;
    if (count == 0) break;
    text.append(part.data(), static_cast<std::size_t>(count));
  }
  return text;
}

std::optional<std::string> file_of(pid_t pid, const char* name) {
  return read_all(fmt::format("/proc/{}/{}", pid, name));
}

/// The number that the newest process or thread of this machine was given. Nothing: not known.
std::optional<std::uint64_t> newest_number() {
  const auto text = read_all("/proc/loadavg");
  if (!text) return std::nullopt;
  return leading_number<std::uint64_t>(std::string_view(*text).substr(text->rfind(' ') + 1));
}

struct DirectoryCloser {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

/// The entries of a directory of /proc that are numbers.
template <typename Visit>
void visit_numbers(const std::string& path, Visit visit) {
  const std::unique_ptr<DIR, DirectoryCloser> directory(::opendir(path.c_str()));
  if (!directory) return;
  while (const dirent* entry = ::readdir(directory.get()))
    if (const auto number = leading_number<pid_t>(entry->d_name)) visit(*number);
}

/// Of /proc/PID/stat.
struct Stat {
  pid_t parent = 0;
  bool ended = false;
  std::chrono::nanoseconds began{0};  // since the machine's start
  std::chrono::nanoseconds own{0};
  std::chrono::nanoseconds children{0};
};

std::optional<Stat> read_stat(pid_t pid) {
  const auto text = file_of(pid, "stat");
  if (!text) return std::nullopt;
  // The name in parentheses may hold anything.
  const auto name_end = text->rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::array<std::string_view, 20> fields;  // from the state on, the third field of proc(5)
  std::string_view rest = std::string_view(*text).substr(name_end + 1);
  for (std::string_view& field : fields) {
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    field = rest.substr(0, rest.find(' '));
    rest.remove_prefix(field.size());
  }
  static const std::int64_t tick_ns = 1'000'000'000 / ::sysconf(_SC_CLK_TCK);
  const auto ticks = [&fields](std::size_t number) {
    return std::chrono::nanoseconds(leading_number<std::int64_t>(fields.at(number)).value_or(0) *
                                    tick_ns);
  };
  return Stat{.parent = leading_number<pid_t>(fields[1]).value_or(0),
              .ended = fields[0] == "Z" || fields[0] == "X",
              .began = ticks(19),
              .own = ticks(11) + ticks(12),
              .children = ticks(13) + ticks(14)};
}

/// Only such a process is believed what its title says: on a real node root's, in a test ours.
bool is_trusted(pid_t pid) {
  struct stat status{};
  return ::stat(fmt::format("/proc/{}", pid).c_str(), &status) == 0 &&
         (status.st_uid == 0 || status.st_uid == ::geteuid());
}

/// Adds what its threads may run on.
void add_binding(pid_t pid, const CoreList& job_cores, StepProcess& process) {
  visit_numbers(fmt::format("/proc/{}/task", pid), [&](pid_t thread) {
    cpu_set_t mask;
    if (::sched_getaffinity(thread, sizeof(mask), &mask) != 0) return;
    CoreList own;
    for (const std::uint32_t core : job_cores)
      if (core < CPU_SETSIZE && CPU_ISSET(core, &mask)) own.push_back(core);
    if (own.size() == job_cores.size())
      process.loose = true;
    else
      process.bound = united(process.bound, own);
  });
}

}  // namespace

StepEnvironment parse_step_environment(std::string_view text) {
  StepEnvironment found;
  while (!text.empty()) {
    const std::string_view variable = text.substr(0, text.find('\0'));
    text.remove_prefix(std::min(variable.size() + 1, text.size()));
    const auto value_of = [variable](std::string_view name) -> std::optional<std::string_view> {
      if (!variable.starts_with(name)) return std::nullopt;
      return variable.substr(name.size());
    };
    if (const auto job = value_of("SLURM_JOB_ID="))
      found.job = leading_number<std::uint64_t>(*job).value_or(0);
    else if (const auto step = value_of("SLURM_STEP_ID="))
      found.step = *step;
    else if (const auto node = value_of("SLURMD_NODENAME="))
      found.node = *node;
    else if (const auto cpus = value_of("SLURM_CPUS_ON_NODE="))
      found.cpus = leading_number<std::uint32_t>(*cpus);
  }
  return found;
}

std::optional<StepEnvironment> parse_step_title(std::string_view command_line) {
  constexpr std::string_view name = "slurmstepd: [";
  if (!command_line.starts_with(name)) return std::nullopt;
  const std::string_view id = command_line.substr(0, command_line.find(']')).substr(name.size());
  const auto dot = id.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  StepEnvironment found;
  found.job = leading_number<std::uint64_t>(id).value_or(0);
  const std::string_view step = id.substr(dot + 1);
  if (leading_number<std::uint32_t>(step)) found.step = step;
  return found;
}

std::optional<JobAge> age_of_job(std::uint64_t job) {
  timespec since_start{};
  ::clock_gettime(CLOCK_BOOTTIME, &since_start);
  const std::chrono::nanoseconds now =
      std::chrono::seconds(since_start.tv_sec) + std::chrono::nanoseconds(since_start.tv_nsec);
  std::optional<JobAge> oldest;
  visit_numbers("/proc", [&](pid_t pid) {
    const auto title = file_of(pid, "cmdline");
    const auto step = title ? parse_step_title(*title) : std::nullopt;
    if (!step || step->job != job || !is_trusted(pid)) return;
    const auto stat = read_stat(pid);
    if (!stat || stat->began > now) return;
    const JobAge age{.at_least = std::chrono::floor<std::chrono::seconds>(now - stat->began),
                     .from_the_start = step->step.empty()};
    if (!oldest || std::pair(age.from_the_start, age.at_least) >
                       std::pair(oldest->from_the_start, oldest->at_least))
      oldest = age;
  });
  return oldest;
}

bool JobProcesses::worth_a_look(MonotonicTime now) const {
  if (now >= ask_again_) return true;
  const auto newest = newest_number();
  return !newest || *newest != newest_;
}

/// What the process itself says in its environment or, if it may and there is none, what the
/// nearest process above it says; whoever looks after the step knows best which one it is.
std::optional<StepEnvironment> JobProcesses::step_of(pid_t pid, bool ask_above) {
  std::optional<StepEnvironment> found;
  for (unsigned i = 0; pid > 1 && i < most_ancestors; ++i) {
    if (!found)
      if (const auto environment = file_of(pid, "environ")) {
        StepEnvironment said = parse_step_environment(*environment);
        if (said.job != 0) found = std::move(said);
      }
    if (!found && !ask_above) return std::nullopt;
    if (const auto title = file_of(pid, "cmdline"))
      if (auto titled = parse_step_title(*title)) {
        // Itself it is none of the step's; nor is its child, before it is the step's program.
        if (i == 0) return std::nullopt;
        if (!found) return titled;
        found->step = std::move(titled->step);
        return found;
      }
    const auto stat = read_stat(pid);
    if (!stat) break;
    pid = stat->parent;
  }
  return found;
}

/// Later on only its own environment can have changed, by an exec.
void JobProcesses::classify(pid_t pid, Known& known, MonotonicTime now) const {
  const auto age = now - known.first_seen;
  known.ask_again =
      now + std::clamp<MonotonicTime::duration>(age / 2, first_question, last_question);
  auto step = step_of(pid, age < new_for);
  if (step && step->job == options_.job) known.member = std::move(step);
}

std::vector<StepProcess> JobProcesses::look(MonotonicTime now) {
  newest_ = newest_number().value_or(0);
  for (auto& [pid, known] : known_) known.present = false;
  visit_numbers("/proc", [&](pid_t pid) {
    const auto [at, fresh] = known_.try_emplace(pid);
    Known& known = at->second;
    known.present = true;
    if (fresh) known.first_seen = known.ask_again = now;
    if (!known.member && now >= known.ask_again) classify(pid, known, now);
  });
  std::erase_if(known_, [](const auto& item) { return !item.second.present; });
  ask_again_ = MonotonicTime::max();
  for (const auto& [pid, known] : known_)
    if (!known.member && now - known.first_seen < new_for)
      ask_again_ = std::min(ask_again_, known.ask_again);
  std::vector<StepProcess> processes;
  for (const auto& [pid, known] : known_) {
    if (!known.member || known.member->step == options_.own_step) continue;
    if (!known.member->node.empty() && known.member->node != options_.node) continue;
    const auto stat = read_stat(pid);
    if (!stat || stat->ended) continue;
    StepProcess process{.pid = pid,
                        .step = known.member->step,
                        .step_cpus = known.member->cpus,
                        .bound = {},
                        .loose = false,
                        .processor_time = stat->own,
                        .children_time = stat->children};
    add_binding(pid, options_.job_cores, process);
    processes.push_back(std::move(process));
  }
  return processes;
}

}  // namespace orchid::share
