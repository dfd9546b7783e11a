#include "process/line_writer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "foundation/unique_fd.h"

namespace orchid::slurm {
namespace {

constexpr std::chrono::seconds last_wait{1};
constexpr std::size_t longest_quote = 600;

// Exit handlers take no arguments.
std::atomic<LineWriter*> exit_writer{nullptr};
std::atomic<int> quoted_file{-1};     // a memory file that stands for standard error
std::atomic<int> standard_error{-1};  // where that belongs

/// What was written to standard error meanwhile, in one line, its end when it is long.
std::string quote() {
  const int file = quoted_file.load();
  if (file < 0) return {};
  std::string text;
  std::array<char, 4096> buffer{};
  for (off_t at = 0; text.size() < 1UL << 20;) {
    const ssize_t got = ::pread(file, buffer.data(), buffer.size(), at);
    if (got <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(got));
    at += got;
  }
  if (text.size() > longest_quote) text.erase(0, text.size() - longest_quote);
  for (char& c : text)
    if (c == '\n') c = ' ';
  while (text.ends_with(' ')) text.pop_back();
  return text;
}

void say_why() {
  LineWriter* writer = exit_writer.exchange(nullptr);
  if (writer == nullptr) return;
  const std::string said = quote();
  const bool is_opening = quoted_file.load() >= 0;
  stop_quoting();
  if (is_opening)
    end_with(*writer, {ErrorCode::bad_configuration,
                       "libslurm ended the process while it read its configuration (slurm.conf): " +
                           (said.empty() ? std::string("it gave no reason") : said)});
  end_with(*writer, {ErrorCode::internal,
                     "libslurm ended the process; the lines before this in the log say why"});
}

}  // namespace

Result<void> LineWriter::write(std::string line) {
  line += '\n';
  const std::lock_guard lock(mutex_);
  return put(line);
}

void LineWriter::write_last(std::string line) {
  line += '\n';
  const std::unique_lock lock(mutex_, last_wait);
  if (lock.owns_lock()) (void)put(line);
}

Result<void> LineWriter::put(std::string_view text) const {
  while (!text.empty()) {
    const ssize_t written = ::write(fd_, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0)
      return fail(system_failure(ErrorCode::unreachable, "write to the gateway", errno));
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

int exit_status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::unsupported:
      return 3;
    case ErrorCode::bad_configuration:
      return 4;
    case ErrorCode::unreachable:
      return 5;
    case ErrorCode::unauthenticated:
    case ErrorCode::denied:
      return 6;
    case ErrorCode::timed_out:
      return 7;
    default:
      return 1;
  }
}

void end_with(LineWriter& writer, const Failure& failure) {
  exit_writer = nullptr;
  writer.write_last(encode(SourceError{failure.code, failure.message}));
  ::_exit(exit_status_of(failure.code));
}

void expect_foreign_exit(LineWriter& writer) {
  exit_writer = &writer;
  (void)std::atexit(say_why);
}

void start_quoting() {
  UniqueFd file(::memfd_create("errors", MFD_CLOEXEC));
  UniqueFd own(::dup(STDERR_FILENO));
  if (!file || !own || ::dup2(file.get(), STDERR_FILENO) < 0) return;
  standard_error = own.release();
  quoted_file = file.release();
}

void stop_quoting() {
  const UniqueFd file(quoted_file.exchange(-1));
  const UniqueFd own(standard_error.exchange(-1));
  if (!file || !own) return;
  ::dup2(own.get(), STDERR_FILENO);
  std::array<char, 4096> buffer{};
  for (off_t at = 0;;) {
    const ssize_t got = ::pread(file.get(), buffer.data(), buffer.size(), at);
    if (got <= 0 || ::write(STDERR_FILENO, buffer.data(), static_cast<std::size_t>(got)) < 0) break;
    at += got;
  }
}

}  // namespace orchid::slurm
