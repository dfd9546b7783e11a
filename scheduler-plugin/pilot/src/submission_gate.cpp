#include "pilot/submission_gate.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <sstream>
#include <string>

#include "foundation/file_lock.h"

namespace orchid::pilot {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Errors: those of `lock_file`.
Result<UniqueFd> locked(const std::filesystem::path& path, milliseconds patience) {
  return lock_file(path, patience,
                   "a pilot is being submitted, and Slurm has not answered yet; try again");
}

struct Pause {
  SubmissionGate::SystemTime begin;
  SubmissionGate::SystemTime end;
};

/// "END BEGIN"; of an empty file: long ago.
Pause pause_in(int file) {
  std::array<char, 64> text{};
  const ssize_t length = ::pread(file, text.data(), text.size(), 0);
  std::istringstream words(
      std::string(text.data(), static_cast<std::size_t>(std::max(length, 0L))));
  std::int64_t end = 0;
  std::int64_t begin = 0;
  words >> end >> begin;
  return {SubmissionGate::SystemTime(milliseconds(begin)),
          SubmissionGate::SystemTime(milliseconds(end))};
}

}  // namespace

Result<void> SubmissionGate::pause(SystemTime begin, SystemTime end, milliseconds patience) const {
  const auto file = locked(file_, patience);
  if (!file) return fail(file.error());
  const std::string text =
      std::to_string(std::chrono::ceil<milliseconds>(end.time_since_epoch()).count()) + ' ' +
      std::to_string(std::chrono::floor<milliseconds>(begin.time_since_epoch()).count()) + '\n';
  if (::ftruncate(file->get(), 0) != 0 ||
      ::pwrite(file->get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
    return fail_errno("writing " + file_.string());
  return {};
}

Result<UniqueFd> SubmissionGate::enter(milliseconds patience) const {
  return locked(file_, patience);
}

Result<std::optional<UniqueFd>> SubmissionGate::enter_unless_paused(SystemTime now) const {
  auto file = locked(file_, seconds(1));  // who begins a pause has it only for a moment
  if (!file) return fail(std::move(file.error()));
  const Pause pause = pause_in(file->get());
  if (now < pause.end && pause.begin >= since_) return std::nullopt;
  return std::optional(std::move(*file));
}

}  // namespace orchid::pilot
