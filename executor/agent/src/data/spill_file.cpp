#include "data/spill_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>

#include "data/file_copy.h"

namespace orchid::executor {
Result<SpillFile> SpillFile::make(const std::filesystem::path& directory) {
  std::string name = (directory / "orchid-data-XXXXXX").string();
  UniqueFd file(::mkostemp(name.data(), O_CLOEXEC));
  const std::string what = "make a file in " + directory.string();
  if (!file) return fail(file_failure(what));
  if (::unlink(name.c_str()) != 0) return fail(file_failure(what));
  return SpillFile(std::move(file));
}

Result<void> SpillFile::check(const std::filesystem::path& directory) {
  auto made = make(directory);
  if (!made) return fail(std::move(made.error()));
  return {};
}

Result<SpillFile> SpillFile::write(const std::filesystem::path& directory, const MemoryFile& object,
                                   ByteCount bytes, const std::atomic<bool>& stop) {
  if (auto may = check_file_limit(bytes); !may) return fail(std::move(may.error()));
  auto made = make(directory);
  if (!made) return made;
  const auto from = object.open_to_read();
  if (!from) return fail(from.error());
  const FileCopy out{
      .from = {from->get()}, .to = {made->file_.get()}, .bytes = bytes, .flushes = true};
  if (auto copied = copy_file(out, stop); !copied) return fail(std::move(copied.error()));
  return made;
}

Result<MemoryFile> SpillFile::read(ByteCount bytes, const std::atomic<bool>& stop) const {
  auto made = MemoryFile::make(bytes);
  if (!made) return made;
  const auto to = made->open_to_write();
  if (!to) return fail(to.error());
  const FileCopy back{.from = {file_.get()}, .to = {to->get()}, .bytes = bytes};
  if (auto copied = copy_file(back, stop); !copied) return fail(std::move(copied.error()));
  if (auto sealed = made->seal(); !sealed) return fail(std::move(sealed.error()));
  return made;
}

}  // namespace orchid::executor
