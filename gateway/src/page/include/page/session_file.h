// page/session_file.h: sessions of the page in a file, so that a restart logs nobody out.
#pragma once
#include <filesystem>

#include "foundation/background_thread.h"
#include "page/page_sessions.h"

namespace orchid::gateway {

/// Writes on `thread`, which outlives it. What cannot be written is logged, and forgotten with the
/// process.
[[nodiscard]] PageSessions::Save save_sessions_in(std::filesystem::path file,
                                                  BackgroundThread& thread);

/// A file that is not there, or damaged, has none: people log in again.
void restore_sessions(PageSessions& sessions, const std::filesystem::path& file);

}  // namespace orchid::gateway
