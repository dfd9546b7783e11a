#include "scratch.h"

#include <utility>

#include "foundation/files.h"

namespace orchid::executor {

Result<Scratch> Scratch::take(std::filesystem::path directory) {
  if (directory.empty()) return Scratch({});
  if (auto made = make_private_directory(directory); !made) return fail(std::move(made.error()));
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error))
    if (entry.path().filename() != "lock")
      return fail(ErrorCode::bad_configuration,
                  "--scratch " + directory.string() + " has " + entry.path().filename().string() +
                      " in it, and is removed when the executor ends: name an empty directory, or "
                      "one that does not exist yet");
  if (error)
    return std::unexpected(
        system_failure(ErrorCode::system, "read " + directory.string(), error.value()));
  return Scratch(std::move(directory));
}

Scratch::Scratch(Scratch&& other) noexcept : directory_(std::exchange(other.directory_, {})) {}

void Scratch::remove() const {
  std::error_code ignored;
  if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
}

}  // namespace orchid::executor
