#include "pilots/pilot_guard.h"

#include <fcntl.h>
#include <unistd.h>

#include "foundation/amounts.h"
#include "foundation/unique_fd.h"

namespace orchid::cli {
namespace {

/// A gateway that is killed is gone by then, with its locks.
constexpr std::chrono::seconds settled_after{10};

}  // namespace

bool has_gateway(const std::filesystem::path& state) {
  const UniqueFd file(::open((state / "lock").c_str(), O_RDONLY | O_CLOEXEC));
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return file && ::fcntl(file.get(), F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

Outage::Verdict Outage::look(MonotonicTime now, bool runs) {
  const bool is_over = now - began_ >= grace_;
  if (!runs) {
    was_gone_ = true;
    return is_over ? Verdict::over : Verdict::wait;
  }
  return was_gone_ || is_over || now - began_ >= settled_after ? Verdict::back : Verdict::wait;
}

std::vector<std::uint64_t> jobs_to_cancel(const std::vector<pilot::PilotJob>& jobs,
                                          std::chrono::milliseconds outage) {
  std::vector<std::uint64_t> chosen;
  for (const pilot::PilotJob& job : jobs) {
    const auto elapsed = parse_duration(job.elapsed);
    const bool has_noticed = job.state == "RUNNING" && elapsed && *elapsed >= outage;
    if (!job.has_ended() && !has_noticed) chosen.push_back(job.job);
  }
  return chosen;
}

}  // namespace orchid::cli
