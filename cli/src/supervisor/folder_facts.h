// supervisor/folder_facts.h: whether a folder can hold what Orchid keeps: `orchid up` refuses those
// that `orchid doctor` calls broken.
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "foundation/units.h"

namespace orchid::cli {

struct DirectoryFacts {
  bool exists = false;
  uid_t owner = 0;
  unsigned mode = 0;        // permission bits
  ByteCount free;           // on its file system
  bool unwritable = false;  // this user cannot make files in it
  bool is_other = false;    // a file or a link has its name
};
using LookAtDirectory = std::function<DirectoryFacts(const std::filesystem::path&)>;

/// As it is on this machine.
[[nodiscard]] DirectoryFacts facts_of_directory(const std::filesystem::path& path);

/// The folder itself, or the nearest one above that exists.
[[nodiscard]] std::filesystem::path existing_part(const LookAtDirectory& look,
                                                  std::filesystem::path path);

/// Why `uid` should not keep state there, or cannot; nothing if it is well. It need not exist.
[[nodiscard]] std::optional<std::string> state_folder_fault(const LookAtDirectory& look,
                                                            const std::filesystem::path& folder,
                                                            uid_t uid);
/// The same of sockets: nobody else may put another folder in its place, either.
[[nodiscard]] std::optional<std::string> runtime_folder_fault(const LookAtDirectory& look,
                                                              const std::filesystem::path& folder,
                                                              uid_t uid);

}  // namespace orchid::cli
