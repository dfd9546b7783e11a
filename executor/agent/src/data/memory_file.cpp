#include "data/memory_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace orchid::executor {

Result<MemoryFile> MemoryFile::make(ByteCount bytes) {
  UniqueFd file(::memfd_create("orchid-data", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file) return fail_errno("memfd_create for data");
  if (::ftruncate(file.get(), static_cast<off_t>(bytes.value)) != 0)
    return fail_errno("size of a memory file for data");
  if (::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0)
    return fail_errno("seal the size of data");
  return MemoryFile(std::move(file));
}

Result<void> MemoryFile::seal() {
  if (::fcntl(file_.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SEAL) == 0) return {};
  const int why = errno;
  constexpr int all = F_SEAL_WRITE | F_SEAL_SEAL;
  if (const int seals = ::fcntl(file_.get(), F_GET_SEALS); seals >= 0 && (seals & all) == all)
    return {};
  if (why == EBUSY)
    return fail(ErrorCode::conflict,
                "the writer still has the data mapped; unmap it before it is sealed");
  errno = why;
  return fail_errno("seal data");
}

Result<MemoryFile> MemoryFile::duplicate() const {
  auto file = open_to_write();
  if (!file) return fail(std::move(file.error()));
  return MemoryFile(std::move(*file));
}

Result<UniqueFd> MemoryFile::open_to_write() const {
  UniqueFd writer(::fcntl(file_.get(), F_DUPFD_CLOEXEC, 0));
  if (!writer) return fail_errno("open data to write");
  return writer;
}

/// The right to write is the descriptor's, not the file's: a duplicate would have it, too.
Result<UniqueFd> MemoryFile::open_to_read() const {
  const std::string path = "/proc/self/fd/" + std::to_string(file_.get());
  UniqueFd reader(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!reader) return fail_errno("open data to read");
  return reader;
}

}  // namespace orchid::executor
