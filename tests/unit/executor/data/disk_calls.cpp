#include "disk_calls.h"

#include <doctest/doctest.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

namespace orchid::executor {
namespace {

std::atomic<DiskCalls*> listening{nullptr};

/// 0, or -1 with errno.
int hear_of(const char* function, int file, const std::string& name = "") {
  DiskCalls* const calls = listening;
  if (calls == nullptr) return 0;
  std::error_code gone;
  auto path = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(file), gone);
  if (!name.empty()) path /= name;
  const int error = calls->hear({.name = function, .file = path.string()});
  if (error == 0) return 0;
  errno = error;
  return -1;
}

}  // namespace

DiskCalls::DiskCalls(Answer answer) : answer_(std::move(answer)) {
  REQUIRE(listening.exchange(this) == nullptr);
}

DiskCalls::~DiskCalls() { listening = nullptr; }

void DiskCalls::hold(const std::string& function, const std::string& part) {
  const std::lock_guard lock(mutex_);
  held_function_ = function;
  held_part_ = part;
}

void DiskCalls::release() {
  const std::lock_guard lock(mutex_);
  held_function_.clear();
  changed_.notify_all();
}

bool DiskCalls::is_held() {
  const std::lock_guard lock(mutex_);
  return waiting_ != 0;
}

std::vector<DiskCalls::Call> DiskCalls::calls(const std::string& directory) {
  const std::lock_guard lock(mutex_);
  std::vector<Call> found;
  std::ranges::copy_if(calls_, std::back_inserter(found),
                       [&](const Call& call) { return call.file.starts_with(directory); });
  return found;
}

int DiskCalls::hear(const Call& call) {
  std::unique_lock lock(mutex_);
  const auto is_free = [&] {
    return held_function_.empty() || !call.is(held_function_, held_part_);
  };
  if (!is_free()) {
    ++waiting_;
    changed_.wait_for(lock, std::chrono::seconds(30), is_free);
    --waiting_;
  }
  calls_.push_back(call);
  return answer_(call);
}

}  // namespace orchid::executor

// In place of the C library's.
extern "C" {

int fsync(int file) {
  if (orchid::executor::hear_of("fsync", file) != 0) return -1;
  return static_cast<int>(::syscall(SYS_fsync, file));
}

ssize_t pread(int file, void* into, size_t bytes, off_t at) {
  if (orchid::executor::hear_of("pread", file) != 0) return -1;
  return ::syscall(SYS_pread64, file, into, bytes, at);
}

int unlinkat(int directory, const char* name, int flags) noexcept {
  if (orchid::executor::hear_of("unlinkat", directory, name) != 0) return -1;
  return static_cast<int>(::syscall(SYS_unlinkat, directory, name, flags));
}

}  // extern "C"
