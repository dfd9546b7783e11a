#include "pilots/submission_gate.h"

#include <unistd.h>

#include <array>
#include <charconv>
#include <string>

#include "supervisor/file_lock.h"

namespace orchid::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Errors: those of `lock_file`.
Result<UniqueFd> locked(const std::filesystem::path& path, milliseconds patience) {
  return lock_file(path, patience,
                   "a pilot is being submitted, and Slurm has not answered yet; try again");
}

SubmissionGate::SystemTime end_in(int file) {
  std::array<char, 32> text{};
  const ssize_t length = ::pread(file, text.data(), text.size(), 0);
  std::int64_t end = 0;  // of an empty file: long ago
  if (length > 0) std::from_chars(text.data(), text.data() + length, end);
  return SubmissionGate::SystemTime(seconds(end));
}

}  // namespace

Result<void> SubmissionGate::pause_until(SystemTime end, milliseconds patience) const {
  const auto file = locked(file_, patience);
  if (!file) return fail(file.error());
  const std::string text =
      std::to_string(std::chrono::ceil<seconds>(end.time_since_epoch()).count()) + "\n";
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
  if (now < end_in(file->get())) return std::nullopt;
  return std::optional(std::move(*file));
}

}  // namespace orchid::cli
