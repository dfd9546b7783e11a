#include "toolchain/scratch_directory.h"

#include <cstdlib>
#include <string>
#include <system_error>

namespace orchid::cli {

Result<ScratchDirectory> ScratchDirectory::make() {
  std::error_code error;
  auto folder = std::filesystem::temp_directory_path(error);
  if (error) folder = "/tmp";
  std::string pattern = folder / "orchid-build-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) return fail_errno("making " + pattern);
  return ScratchDirectory(pattern);
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace orchid::cli
