#include "foundation/background_log.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cerrno>
#include <climits>
#include <utility>

#include "foundation/log.h"

namespace orchid::log {
namespace {

/// The one of this process.
std::atomic<BackgroundLog*> current{nullptr};

/// How soon it is noticed that this is over, where nobody takes lines.
constexpr int look_again_ms = 100;

}  // namespace

BackgroundLog::BackgroundLog(int file) : file_(file), process_(::getpid()) {
  thread_ = std::thread([this] { work(); });
  [[maybe_unused]] const BackgroundLog* before = current.exchange(this);
  assert(before == nullptr && "there is one at a time");
}

BackgroundLog::~BackgroundLog() {
  current.store(nullptr);
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
    give_up_ = std::chrono::steady_clock::now() + patience;
  }
  changed_.notify_one();
  thread_.join();
}

bool BackgroundLog::write(std::string& line) {
  BackgroundLog* const log = current.load();
  if (log == nullptr || log->process_ != ::getpid()) return false;
  log->add(std::move(line));
  return true;
}

void BackgroundLog::add(std::string line) {
  {
    const std::lock_guard lock(mutex_);
    if (bytes_ + line.size() > most_bytes) {
      ++lost_;
      return;
    }
    bytes_ += line.size();
    lines_.push_back(std::move(line));
  }
  changed_.notify_one();
}

void BackgroundLog::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return over_ || !lines_.empty(); });
    if (lines_.empty()) return;
    const std::string line = std::move(lines_.front());
    lines_.pop_front();
    lock.unlock();
    const bool is_written = put(line);
    lock.lock();
    bytes_ -= line.size();
    if (!is_written) return;
    if (lost_ == 0 || !lines_.empty()) continue;
    const std::size_t lost = std::exchange(lost_, 0);
    lock.unlock();
    warn("event=log_lines_lost lines={} reason=\"nobody took them in time\"", lost);
    lock.lock();
  }
}

/// Of a pipe that is writable so much is taken at once. A file is always said to be, and may take
/// long, which is what this thread is for. False: it is over, and nobody takes it.
bool BackgroundLog::put(const std::string& line) {
  for (std::size_t at = 0; at < line.size();) {
    if (!is_writable()) return false;
    const std::size_t piece = std::min<std::size_t>(line.size() - at, PIPE_BUF);
    const ssize_t count = ::write(file_, line.data() + at, piece);
    if (count < 0 && errno != EINTR && errno != EAGAIN) return true;  // there is nowhere to say so
    at += static_cast<std::size_t>(std::max<ssize_t>(count, 0));
  }
  return true;
}

bool BackgroundLog::is_writable() {
  while (true) {
    pollfd look{.fd = file_, .events = POLLOUT, .revents = 0};
    if (::poll(&look, 1, look_again_ms) > 0) return true;
    const std::lock_guard lock(mutex_);
    if (over_ && std::chrono::steady_clock::now() >= give_up_) return false;
  }
}

}  // namespace orchid::log
