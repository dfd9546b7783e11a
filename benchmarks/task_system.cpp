#include "task_system.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <sstream>
#include <utility>

namespace orchid::bench {
namespace {

constexpr std::chrono::seconds patience_to_start{120};
constexpr std::chrono::seconds patience_for_graph{120};
constexpr std::chrono::seconds patience_to_end{20};

struct Pipe {
  UniqueFd from;
  UniqueFd to;
};
Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail_errno("pipe2");
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

}  // namespace

Result<TaskSystem> TaskSystem::start(const std::string& name, int cores) {
  if (::access(RIVALS_PYTHON, X_OK) != 0)
    return fail(ErrorCode::not_found, "no Python is at " RIVALS_PYTHON);
  auto input = make_pipe();
  if (!input) return fail(std::move(input.error()));
  auto output = make_pipe();
  if (!output) return fail(std::move(output.error()));
  auto process = processes::ChildProcess::start(
      {.program = RIVALS_PYTHON,
       .arguments = {"-B", RIVALS_SCRIPT, name, std::to_string(cores)},
       .descriptors = {{.from = input->from.get(), .as = STDIN_FILENO},
                       {.from = output->to.get(), .as = STDOUT_FILENO}},
       .group = processes::ProcessGroup::own,
       .dies_with_us = true,
       .default_signals = true});
  if (!process) return fail(std::move(process.error()));
  TaskSystem system(std::move(input->to), std::move(output->from), std::move(*process));
  output->to.reset();  // so that its end is seen
  auto ready = system.line(patience_to_start);
  if (!ready) return fail(std::move(ready.error()));
  if (*ready != "ready") return fail(ErrorCode::internal, name + " said: " + *ready);
  return system;
}

TaskSystem::~TaskSystem() {
  if (!input_) return;
  input_.reset();
  (void)process_.wait(patience_to_end);
}

Result<TaskSystem::Walk> TaskSystem::walk(const std::string& graph) {
  const std::string asked = graph + "\n";
  if (::write(input_.get(), asked.data(), asked.size()) != static_cast<ssize_t>(asked.size()))
    return fail_errno("write to a rival");
  auto answer = line(patience_for_graph);
  if (!answer) return fail(std::move(answer.error()));
  Walk walk;
  double microseconds = 0;
  std::istringstream(*answer) >> walk.tasks >> walk.result >> microseconds;
  if (walk.tasks == 0) return fail(ErrorCode::internal, "the rival said: " + *answer);
  walk.took = std::chrono::duration<double, std::micro>(microseconds);
  return walk;
}

Result<std::string> TaskSystem::line(std::chrono::seconds patience) {
  const auto due = std::chrono::steady_clock::now() + patience;
  std::array<char, 4096> text{};
  for (std::size_t end = 0; (end = read_.find('\n')) == std::string::npos;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        due - std::chrono::steady_clock::now());
    pollfd wait{.fd = output_.get(), .events = POLLIN, .revents = 0};
    if (left.count() <= 0 || ::poll(&wait, 1, static_cast<int>(left.count())) == 0)
      return fail(ErrorCode::timed_out, "a rival does not answer");
    const ssize_t got = ::read(output_.get(), text.data(), text.size());
    if (got <= 0) return fail(ErrorCode::unreachable, "a rival has ended; is it installed?");
    read_.append(text.data(), static_cast<std::size_t>(got));
  }
  const std::size_t end = read_.find('\n');
  std::string line = read_.substr(0, end);
  read_.erase(0, end + 1);
  return line;
}

std::optional<TaskSystem> find_rival(const std::string& name, const std::string& what, int cores) {
  auto system = TaskSystem::start(name, cores);
  if (system) return std::move(*system);
  std::fprintf(stderr, "%s has no rows: %s; install it: %s\n", what.c_str(),
               system.error().message.c_str(),
               "python3 -m venv build/rivals && build/rivals/bin/pip install distributed ray parsl "
               "hyperqueue");
  return std::nullopt;
}

Description description_of_rival(const std::string& name, std::string what) {
  return {std::move(what), RIVALS_PYTHON " " RIVALS_SCRIPT " " + name, ""};
}

Round rival_round(TaskSystem& system, std::string graph, std::uint64_t expected) {
  return [&system, graph = std::move(graph), expected]() -> Result<std::vector<double>> {
    const auto walked = system.walk(graph);
    if (!walked) return fail(walked.error());
    if (walked->result != expected)
      return fail(ErrorCode::internal, "a rival came to " + std::to_string(walked->result));
    return std::vector{walked->took.count() / static_cast<double>(walked->tasks)};
  };
}

std::vector<Promise> promises_against_rivals() {
  constexpr double most_of_rival = 0.05;
  return {{Statistic::p50, {Target::Direction::at_most, most_of_rival}}};
}

}  // namespace orchid::bench
