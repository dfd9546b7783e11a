#include "batch_cluster.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <thread>

#include "foundation/files.h"
#include "harness/child_process.h"

namespace orchid::bench {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using std::chrono::system_clock;

constexpr seconds start_limit{120};
constexpr seconds command_limit{30};
constexpr milliseconds look_at_job_again{50};

std::filesystem::path log_of(const std::filesystem::path& directory) {
  return directory / "slurmctld-with-times.log";
}

/// "2026-11-22T09:47:44.989", in local time, as slurmctld writes it.
Result<system_clock::time_point> parse_time(const std::string& text) {
  std::tm fields{};
  const char* rest = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &fields);
  if (rest == nullptr || *rest != '.')
    return fail(ErrorCode::internal, "slurmctld's log has another form of time: " + text);
  fields.tm_isdst = -1;
  return system_clock::from_time_t(std::mktime(&fields)) + milliseconds(std::atoi(rest + 1));
}

/// On a cluster slurmctld has a machine of its own, and none of its work waits for what nodes run.
/// Here it shares cores with them: it goes first. Only root may do that.
Result<void> put_first(const std::filesystem::path& pid_file) {
  const auto text = read_file(pid_file, 4_KiB);
  if (!text) return fail(text.error());
  const auto pid = std::atoi(std::string(as_text(*text)).c_str());
  std::error_code gone;
  const auto threads = std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid), gone);
  for (const auto& thread : threads)
    if (::setpriority(PRIO_PROCESS, static_cast<id_t>(std::atoi(thread.path().filename().c_str())),
                      -20) != 0)
      return fail_errno("the priority of slurmctld");
  if (gone) return fail(ErrorCode::not_found, "slurmctld has gone");
  return {};
}

}  // namespace

Result<std::unique_ptr<BatchCluster>> BatchCluster::start(const Options& options) {
  std::string pattern = "/tmp/orchid-bench-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) return fail_errno("mkdtemp");
  auto cluster = std::unique_ptr<BatchCluster>(new BatchCluster(pattern));
  if (::mkfifo(cluster->pipe().c_str(), 0600) != 0) return fail_errno("mkfifo");
  // Also for writing, so that it has no end while no job has it open.
  cluster->pipe_ = UniqueFd(::open(cluster->pipe().c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!cluster->pipe_) return fail_errno("open " + cluster->pipe().string());
  auto up = cluster->manage({"up", "--nodes", std::to_string(options.nodes), "--cores",
                             std::to_string(options.cores), "--memory",
                             std::to_string(options.memory.value >> 20), "--option",
                             "SchedulerParameters=" + options.scheduler_parameters, "--option",
                             "SlurmctldLogFile=" + log_of(cluster->directory_).string()});
  if (!up) return fail(std::move(up.error()));
  if (const auto first = put_first(cluster->directory_ / "cluster" / "slurmctld.pid"); !first)
    fmt::print(stderr, "slurmctld shares the cores with all others: {}\n", first.error().message);
  return cluster;
}

BatchCluster::~BatchCluster() {
  if (const auto down = manage({"down"}); !down)
    fmt::print(stderr, "the test cluster does not end: {}\n", down.error().message);
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

Result<std::string> BatchCluster::manage(const std::vector<std::string>& words) const {
  std::vector<std::string> command{"/usr/bin/python3", "-B", CLUSTER_SCRIPT, "--directory",
                                   directory_ / "cluster"};
  command.insert(command.end(), words.begin(), words.end());
  return output_of({.command = std::move(command)}, start_limit);
}

std::string BatchCluster::environment() const {
  return "SLURM_CONF=" + (directory_ / "cluster" / "slurm.conf").string();
}

Result<std::string> BatchCluster::run(std::vector<std::string> command) const {
  return output_of({.command = std::move(command), .environment = {environment()}}, command_limit);
}

Result<std::uint64_t> BatchCluster::submit(const std::vector<std::string>& options,
                                           const std::string& lines) const {
  const std::filesystem::path script = directory_ / "script.sh";
  if (auto written = write_cache_file(script, as_bytes("#!/bin/bash\n" + lines)); !written)
    return fail(std::move(written.error()));
  std::vector<std::string> command{"sbatch", "--parsable", "--output=/dev/null"};
  command.insert(command.end(), options.begin(), options.end());
  command.push_back(script);
  auto told = run(std::move(command));
  if (!told) return fail(std::move(told.error()));
  return std::strtoull(told->c_str(), nullptr, 10);
}

Result<void> BatchCluster::wait_until_empty() const {
  const auto give_up = steady_clock::now() + command_limit;
  while (true) {
    const auto queue = run({"squeue", "--noheader"});
    if (!queue) return fail(queue.error());
    if (queue->empty()) return {};
    if (steady_clock::now() > give_up)
      return fail(ErrorCode::timed_out, "jobs do not leave the queue: " + *queue);
    std::this_thread::sleep_for(look_at_job_again);  // between two measurements
  }
}

Result<std::string> BatchCluster::next_line(milliseconds patience) {
  const auto give_up = steady_clock::now() + patience;
  while (true) {
    if (const auto end = read_.find('\n'); end != std::string::npos) {
      std::string line = read_.substr(0, end);
      read_.erase(0, end + 1);
      return line;
    }
    const auto left = std::chrono::ceil<milliseconds>(give_up - steady_clock::now());
    pollfd readable{.fd = pipe_.get(), .events = POLLIN, .revents = 0};
    if (left.count() <= 0 || ::poll(&readable, 1, static_cast<int>(left.count())) == 0) {
      const auto queue = run({"squeue"});
      return fail(ErrorCode::timed_out, fmt::format("no job has said anything for {} ms; {}",
                                                    patience.count(), queue ? *queue : ""));
    }
    char bytes[4096];
    if (const auto size = ::read(pipe_.get(), bytes, sizeof(bytes)); size > 0)
      read_.append(bytes, static_cast<std::size_t>(size));
  }
}

Result<BatchCluster::SystemTime> BatchCluster::preempted_for(std::uint64_t job) const {
  return time_of(fmt::format(" to reclaim resources for JobId={}\n", job));
}

Result<BatchCluster::SystemTime> BatchCluster::allocated(std::uint64_t job) const {
  auto at_once = time_of(fmt::format(" Allocate JobId={} ", job));
  return at_once ? at_once : time_of(fmt::format(" Started JobId={} ", job));  // by backfill
}

Result<BatchCluster::SystemTime> BatchCluster::time_of(const std::string& words) const {
  const auto log = read_file(log_of(directory_), 64_MiB);
  if (!log) return fail(log.error());
  const std::string_view text = as_text(*log);
  const std::size_t found = text.find(words);
  if (found == std::string_view::npos)
    return fail(ErrorCode::internal, "slurmctld's log has nothing of:" + words);
  const std::size_t before = text.rfind('\n', found);
  const std::size_t line = before == std::string_view::npos ? 0 : before + 1;
  return parse_time(std::string(text.substr(line + 1, text.find(']', line) - line - 1)));
}

}  // namespace orchid::bench
