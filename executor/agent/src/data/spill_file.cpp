#include "data/spill_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace orchid::executor {
namespace {

constexpr std::uint64_t piece_bytes = 1 << 20;
/// So much is handed to the disk at a time: a grant that ends waits for no more than that.
constexpr std::uint64_t flushed_bytes = 4 << 20;

Failure failed(std::string_view what) {
  const int why = errno;
  const bool is_full = why == ENOSPC || why == EDQUOT || why == EFBIG;
  return system_failure(is_full ? ErrorCode::disk_full : ErrorCode::system, what, why);
}

/// The kernel ends a process that writes beyond it.
Result<void> check_file_limit(ByteCount bytes) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0) return fail_errno("read the limit of file sizes");
  if (limit.rlim_cur == RLIM_INFINITY || bytes.value <= limit.rlim_cur) return {};
  return fail(ErrorCode::disk_full, "this process may write files of " +
                                        to_string(ByteCount{limit.rlim_cur}) + " only (ulimit -f)");
}

/// As much as was asked for, unless the file ends. Errors: errno.
bool read_piece(int file, std::vector<std::byte>& into, std::uint64_t at) {
  std::size_t have = 0;
  while (have < into.size()) {
    const ssize_t got =
        ::pread(file, into.data() + have, into.size() - have, static_cast<off_t>(at + have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return false;
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  into.resize(have);
  return true;
}

bool write_piece(int file, const std::vector<std::byte>& from, std::uint64_t at) {
  std::size_t done = 0;
  while (done < from.size()) {
    const ssize_t put =
        ::pwrite(file, from.data() + done, from.size() - done, static_cast<off_t>(at + done));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    done += static_cast<std::size_t>(put);
  }
  return true;
}

/// Some file systems find out here that they are full. One that cannot do it at all does without.
bool flush(int file, std::uint64_t from, std::uint64_t to) {
  constexpr unsigned all =
      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  const auto begin = static_cast<off_t>(from);
  const auto length = static_cast<off_t>(to - from);
  if (::sync_file_range(file, begin, length, all) != 0 &&
      (errno == EIO || errno == ENOSPC || errno == EDQUOT))
    return false;
  // A hint: the memory is what this is about.
  static_cast<void>(::posix_fadvise(file, begin, length, POSIX_FADV_DONTNEED));
  return true;
}

/// `flushes`: what is written is for the disk.
Result<void> copy(int from, int to, ByteCount bytes, const std::atomic<bool>& stop, bool flushes) {
  std::vector<std::byte> piece;
  std::uint64_t flushed = 0;
  for (std::uint64_t at = 0; at < bytes.value;) {
    if (stop) return fail(ErrorCode::cancelled, "the data is not wanted any more");
    piece.resize(std::min(piece_bytes, bytes.value - at));
    if (!read_piece(from, piece, at)) return fail(failed("read data"));
    if (piece.empty())
      return fail(ErrorCode::system,
                  "the file of the data is shorter than the data: its disk has lost a part of it");
    if (!write_piece(to, piece, at)) return fail(failed("write data"));
    at += piece.size();
    if (!flushes || (at - flushed < flushed_bytes && at < bytes.value)) continue;
    if (!flush(to, flushed, at)) return fail(failed("write data to its disk"));
    flushed = at;
  }
  return {};
}

}  // namespace

Result<SpillFile> SpillFile::make(const std::filesystem::path& directory) {
  std::string name = (directory / "orchid-data-XXXXXX").string();
  UniqueFd file(::mkostemp(name.data(), O_CLOEXEC));
  const std::string what = "make a file in " + directory.string();
  if (!file) return fail(failed(what));
  if (::unlink(name.c_str()) != 0) return fail(failed(what));
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
  if (auto copied = copy(from->get(), made->file_.get(), bytes, stop, /*flushes=*/true); !copied)
    return fail(std::move(copied.error()));
  return made;
}

Result<MemoryFile> SpillFile::read(ByteCount bytes, const std::atomic<bool>& stop) const {
  auto made = MemoryFile::make(bytes);
  if (!made) return made;
  const auto to = made->open_to_write();
  if (!to) return fail(to.error());
  if (auto copied = copy(file_.get(), to->get(), bytes, stop, /*flushes=*/false); !copied)
    return fail(std::move(copied.error()));
  if (auto sealed = made->seal(); !sealed) return fail(std::move(sealed.error()));
  return made;
}

}  // namespace orchid::executor
