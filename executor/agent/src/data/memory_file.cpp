#include "data/memory_file.h"
#include "foundation/duplicate.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <string>

namespace orchid::executor {

namespace {

Result<UniqueFd> make_file(ByteCount bytes) {
  UniqueFd file(::memfd_create("orchid-data", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file) return fail_errno("memfd_create for data");
  if (::ftruncate(file.get(), static_cast<off_t>(bytes.value)) != 0)
    return fail_errno("size of a memory file for data");
  return file;
}

Result<void> add_seals(const UniqueFd& file, int seals, const char* what) {
  if (::fcntl(file.get(), F_ADD_SEALS, seals) != 0) return fail_errno(what);
  return {};
}

bool has_seals(const UniqueFd& file, int wanted) {
  const int seals = ::fcntl(file.get(), F_GET_SEALS);
  return seals >= 0 && (seals & wanted) == wanted;
}

Failure still_in_use() {
  return {ErrorCode::conflict,
          "the writer still has the data mapped or open; let go of it before it is sealed"};
}

}  // namespace

Result<MemoryFile> MemoryFile::make(ByteCount bytes) {
  return make(bytes, F_SEAL_SHRINK | F_SEAL_GROW);
}

Result<MemoryFile> MemoryFile::make_for_call(ByteCount bytes) { return make(bytes, F_SEAL_GROW); }

/// The kernel counts who has opened a file to write, and does not count who has made it.
Result<MemoryFile> MemoryFile::make(ByteCount bytes, int seals) {
  auto made = make_file(bytes);
  if (!made) return fail(std::move(made.error()));
  if (auto sealed = add_seals(*made, seals, "seal the size of data"); !sealed)
    return fail(std::move(sealed.error()));
  auto opened = MemoryFile(std::move(*made)).open_again(O_RDWR);
  if (!opened) return fail(std::move(opened.error()));
  return MemoryFile(std::move(*opened));
}

void MemoryFile::empty() { static_cast<void>(::ftruncate(file_.get(), 0) == 0); }

Result<void> MemoryFile::seal() {
  constexpr int all = F_SEAL_WRITE | F_SEAL_SEAL;
  if (has_seals(file_, all)) return {};
  if (::fcntl(file_.get(), F_ADD_SEALS, all) == 0) return {};
  const int why = errno;
  if (has_seals(file_, all)) return {};
  if (why == EBUSY) return fail(still_in_use());
  errno = why;
  return fail_errno("seal data");
}

/// A lease for a writer is given to who alone has a file open, in however many descriptors of one
/// opening; a mapping has its file open. O_PATH opens nothing in this sense. Workers cannot do it:
/// they open no files at all.
Result<void> MemoryFile::check_alone() const {
  // Who opens the file while the lease is held makes the kernel send this; SIGIO would end us.
  if (::fcntl(file_.get(), F_SETSIG, SIGURG) != 0) return fail_errno("choose a lease's signal");
  if (::fcntl(file_.get(), F_SETLEASE, F_WRLCK) != 0) {
    if (errno == EAGAIN) return fail(still_in_use());
    return fail_errno("find out who has data open");
  }
  if (::fcntl(file_.get(), F_SETLEASE, F_UNLCK) != 0) return fail_errno("give a lease back");
  return {};
}

/// Should somebody change the size in between all the same, `fix_size` finds it.
Result<void> MemoryFile::seal_for_call(ByteCount size) {
  if (has_seals(file_, F_SEAL_WRITE)) return {};
  if (auto alone = check_alone(); !alone) return alone;
  if (::ftruncate(file_.get(), static_cast<off_t>(size.value)) != 0)
    return fail_errno("shrink data to its size");
  if (::fcntl(file_.get(), F_ADD_SEALS, F_SEAL_WRITE) == 0) return {};
  if (errno == EBUSY) return fail(still_in_use());
  return fail_errno("seal data");
}

/// In this order: what is sealed is what is looked at.
Result<void> MemoryFile::fix_size(ByteCount size) {
  if (auto sealed = add_seals(file_, F_SEAL_SHRINK | F_SEAL_SEAL, "seal the size of data"); !sealed)
    return sealed;
  struct stat status{};
  if (::fstat(file_.get(), &status) != 0) return fail_errno("the size of data");
  if (static_cast<std::uint64_t>(status.st_size) == size.value) return {};
  return fail(ErrorCode::conflict, "somebody has changed the size of the data since it was sealed");
}

Result<MemoryFile> MemoryFile::duplicate() const {
  auto same = orchid::duplicate(file_.get());
  if (!same) return fail(std::move(same.error()));
  return MemoryFile(std::move(*same));
}

/// Not a duplicate: the kernel is to know our opening from the writer's.
Result<UniqueFd> MemoryFile::open_to_write() const { return open_again(O_RDWR); }

/// The right to write is the descriptor's, not the file's: a duplicate would have it, too.
Result<UniqueFd> MemoryFile::open_to_read() const { return open_again(O_RDONLY); }

Result<UniqueFd> MemoryFile::open_again(int flags) const {
  const std::string path = "/proc/self/fd/" + std::to_string(file_.get());
  UniqueFd opened(::open(path.c_str(), flags | O_CLOEXEC));
  if (!opened) return fail_errno(flags == O_RDONLY ? "open data to read" : "open data to write");
  return opened;
}

}  // namespace orchid::executor
