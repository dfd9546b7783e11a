#include "page/session_file.h"

#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>

#include "foundation/files.h"
#include "foundation/log.h"

namespace orchid::gateway {
namespace {

constexpr ByteCount largest_file{64ULL << 20};

/// The text that is to be written next: who logs in faster than the disk writes leaves one behind.
class Newest {
 public:
  /// Whether somebody has to be told to take it.
  [[nodiscard]] bool put(std::string text) {
    const std::scoped_lock lock(mutex_);
    text_ = std::move(text);
    return !std::exchange(waits_, true);
  }
  [[nodiscard]] std::string take() {
    const std::scoped_lock lock(mutex_);
    waits_ = false;
    return std::move(text_);
  }

 private:
  std::mutex mutex_;
  std::string text_;
  bool waits_ = false;
};

}  // namespace

PageSessions::Save save_sessions_in(std::filesystem::path file, BackgroundThread& thread) {
  return [file = std::move(file), &thread, newest = std::make_shared<Newest>()](std::string text) {
    if (!newest->put(std::move(text))) return;
    thread.run([file, newest] {
      if (auto written = write_file_atomically(file, as_bytes(newest->take()), 0600); !written)
        log::warn("event=page_sessions_not_written reason=\"{}\"", written.error().message);
    });
  };
}

void restore_sessions(PageSessions& sessions, const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return;
  const auto content = read_file(file, largest_file);
  const auto restored = content ? sessions.restore(as_text(*content))
                                : Result<void>(std::unexpected(content.error()));
  if (!restored)
    log::warn("event=page_sessions_not_read file={} reason=\"{}\"", file.string(),
              restored.error().message);
}

}  // namespace orchid::gateway
