#include "harness/machine.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

namespace orchid::bench {

namespace {

std::string read_text(const std::string& path) {
  std::ifstream file{path};
  std::ostringstream text;
  text << file.rdbuf();  // of a process that ends meanwhile nothing, and no exception
  return std::move(text).str();
}

/// The fields of /proc/PID/stat after the name, which may hold blanks and parentheses; [0] is the
/// state.
std::vector<std::string> stat_fields(pid_t process) {
  const std::string text = read_text(fmt::format("/proc/{}/stat", process));
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream rest{text.substr(name_end + 1)};
  return {std::istream_iterator<std::string>(rest), {}};
}

constexpr std::size_t parent_field = 1;
constexpr std::size_t user_time_field = 11;  // then system, children's user, children's system

}  // namespace

std::string describe_machine() {
  std::string model = "unknown CPU";
  std::istringstream cpus{read_text("/proc/cpuinfo")};
  for (std::string line; std::getline(cpus, line);) {
    if (line.starts_with("model name")) {
      model = line.substr(line.find(':') + 2);
      break;
    }
  }
  utsname kernel{};
  ::uname(&kernel);
  const std::string load = read_text("/proc/loadavg");
  return fmt::format("{}, {} of {} cores, Linux {}, load {}", model, allowed_cores().size(),
                     ::sysconf(_SC_NPROCESSORS_ONLN), kernel.release,
                     load.substr(0, load.find(' ')));
}

std::vector<int> allowed_cores() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  ::sched_getaffinity(0, sizeof mask, &mask);
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &mask)) cores.push_back(core);
  }
  return cores;
}

Result<void> pin(std::int64_t process, int core) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CPU_SET(core, &mask);
  if (::sched_setaffinity(static_cast<pid_t>(process), sizeof mask, &mask) != 0)
    return fail_errno(fmt::format("pinning to core {}", core));
  return {};
}

Result<std::chrono::microseconds> cpu_time_of(pid_t process) {
  const auto fields = stat_fields(process);
  if (fields.size() < user_time_field + 4)
    return fail(ErrorCode::not_found, fmt::format("no process {}", process));
  long ticks = 0;
  for (std::size_t i = 0; i < 4; ++i) ticks += std::stol(fields[user_time_field + i]);
  return std::chrono::microseconds(ticks * 1'000'000 / ::sysconf(_SC_CLK_TCK));
}

Result<ByteCount> proportional_memory_of(pid_t process) {
  std::istringstream lines{read_text(fmt::format("/proc/{}/smaps_rollup", process))};
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("Pss:")) return ByteCount{std::stoull(line.substr(4)) * 1024};
  }
  return fail(ErrorCode::not_found, fmt::format("process {} has no readable memory map", process));
}

std::vector<pid_t> process_tree(pid_t root) {
  std::multimap<pid_t, pid_t> children;
  std::error_code ended;  // a process may end while we look
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ended)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto fields = stat_fields(std::stoi(name));
    if (fields.size() > parent_field)
      children.emplace(std::stoi(fields[parent_field]), std::stoi(name));
  }
  std::vector<pid_t> tree{root};
  for (std::size_t i = 0; i < tree.size(); ++i) {
    const auto [first, last] = children.equal_range(tree[i]);
    for (auto child = first; child != last; ++child) tree.push_back(child->second);
  }
  return tree;
}

}  // namespace orchid::bench
