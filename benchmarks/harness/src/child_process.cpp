#include "harness/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <utility>

#include "foundation/files.h"
#include "foundation/random.h"
#include "foundation/unique_fd.h"
#include "processes/program_path.h"

namespace orchid::bench {

namespace {

/// In the child, between fork and exec.
const char* pin(const void* context) noexcept {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CPU_SET(*static_cast<const int*>(context), &mask);
  return ::sched_setaffinity(0, sizeof mask, &mask) == 0 ? nullptr : "pinning it to its core";
}

}  // namespace

Result<ChildProcess> ChildProcess::start(const Options& options) {
  processes::ProgramStart program{.program = processes::path_of_program(options.command.at(0)),
                                  .arguments = {options.command.begin() + 1, options.command.end()},
                                  .environment = processes::environment_with(options.environment),
                                  .dies_with_us = true,
                                  .default_signals = true};
  if (options.core >= 0) program.last_step = {.run = pin, .context = &options.core};
  UniqueFd output;
  if (!options.output_file.empty()) {
    output.reset(
        ::open(options.output_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!output) return fail_errno("open " + options.output_file.string());
    program.descriptors = {{.from = output.get(), .as = STDOUT_FILENO},
                           {.from = output.get(), .as = STDERR_FILENO}};
  }
  auto process = processes::ChildProcess::start(program);
  if (!process) return fail(std::move(process.error()));
  return ChildProcess(std::move(*process));
}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  if (this != &other) {
    stop();
    process_ = std::move(other.process_);
  }
  return *this;
}

void ChildProcess::stop(std::chrono::milliseconds patience) {
  process_.send_signal(SIGTERM);
  if (process_.wait(patience)) return;
  process_.kill();
  (void)process_.wait(patience);
}

Result<int> ChildProcess::wait(std::chrono::milliseconds patience) {
  if (process_.pid() < 0) return fail(ErrorCode::not_found, "the process has been waited for");
  const auto end = process_.wait(patience);
  if (end) return end->shell_status();
  return fail(ErrorCode::timed_out,
              fmt::format("process {} still runs after {} ms", pid(), patience.count()));
}

Result<std::string> output_of(const ChildProcess::Options& options,
                              std::chrono::milliseconds patience) {
  ChildProcess::Options redirected = options;
  redirected.output_file =
      std::filesystem::temp_directory_path() / ("orchid-bench-" + random_hex(8));
  auto child = ChildProcess::start(redirected);
  if (!child) return fail(std::move(child.error()));
  const auto status = child->wait(patience);
  child->stop();
  const auto content = read_file(redirected.output_file, 64_MiB);
  std::error_code ignored;  // a leftover file in the temporary directory is no reason to fail
  std::filesystem::remove(redirected.output_file, ignored);
  if (!status) return fail(Failure(status.error()).while_doing(options.command[0]));
  std::string text = content ? std::string(as_text(*content)) : "";
  if (*status != 0) {
    return fail(ErrorCode::internal,
                fmt::format("{} ended with status {}: {}", options.command[0], *status, text));
  }
  return text;
}

}  // namespace orchid::bench
