#include "page/session_file.h"

#include <string>
#include <system_error>
#include <utility>

#include "foundation/files.h"
#include "foundation/log.h"

namespace orchid::gateway {
namespace {
constexpr ByteCount largest_file{64ULL << 20};
}  // namespace

PageSessions::Save save_sessions_in(std::filesystem::path file, BackgroundThread& thread) {
  return [file = std::move(file), &thread](std::string text) {
    thread.run([file, text = std::move(text)] {
      if (auto written = write_file_atomically(file, as_bytes(text), 0600); !written)
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
