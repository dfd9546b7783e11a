#include "pilots/pilot_pause.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <string>
#include <thread>

#include "foundation/clock.h"

namespace orchid::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds look_again{20};

/// Errors: `timed_out`, `system`.
Result<UniqueFd> locked(const std::filesystem::path& path, milliseconds patience) {
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file) return fail_errno("opening " + path.string());
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  const auto give_up = std::chrono::steady_clock::now() + patience;
  while (::fcntl(file.get(), F_OFD_SETLK, &lock) != 0) {
    if (errno != EAGAIN && errno != EACCES) return fail_errno("locking " + path.string());
    if (std::chrono::steady_clock::now() >= give_up)
      return fail(ErrorCode::timed_out,
                  "a pilot is being submitted, and Slurm has not answered yet; try again");
    std::this_thread::sleep_for(look_again);
  }
  return file;
}

PilotPause::SystemTime end_in(int file) {
  std::array<char, 32> text{};
  const ssize_t length = ::pread(file, text.data(), text.size(), 0);
  std::int64_t end = 0;  // of an empty file: long ago
  if (length > 0) std::from_chars(text.data(), text.data() + length, end);
  return PilotPause::SystemTime(seconds(end));
}

}  // namespace

Result<void> PilotPause::begin(SystemTime end, milliseconds patience) const {
  const auto file = locked(file_, patience);
  if (!file) return fail(file.error());
  const std::string text =
      std::to_string(std::chrono::ceil<seconds>(end.time_since_epoch()).count()) + "\n";
  if (::ftruncate(file->get(), 0) != 0 ||
      ::pwrite(file->get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
    return fail_errno("writing " + file_.string());
  return {};
}

Result<std::optional<UniqueFd>> PilotPause::hold_off(SystemTime now) const {
  auto file = locked(file_, seconds(1));  // who begins a pause has it only for a moment
  if (!file) return fail(std::move(file.error()));
  if (now < end_in(file->get())) return std::nullopt;
  return std::optional(std::move(*file));
}

}  // namespace orchid::cli
