#include "data/file_copy.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace orchid::executor {
namespace {

constexpr std::uint64_t piece_bytes = 1 << 20;
/// So much is handed to the disk at a time: a grant that ends waits for no more than that.
constexpr std::uint64_t flushed_bytes = 4 << 20;

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

}  // namespace

Failure file_failure(std::string_view what) {
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

Result<void> copy_file(const FileCopy& from_to, const std::atomic<bool>& stop) {
  const auto& [from, to, bytes, flushes, digest] = from_to;
  std::vector<std::byte> piece;
  std::uint64_t flushed = 0;
  for (std::uint64_t at = 0; at < bytes.value;) {
    if (stop) return fail(ErrorCode::cancelled, "the data is not wanted any more");
    piece.resize(std::min(piece_bytes, bytes.value - at));
    if (!read_piece(from.file, piece, from.at + at)) return fail(file_failure("read data"));
    if (piece.empty())
      return fail(ErrorCode::data_lost,
                  "the file of the data is shorter than the data: its disk has lost a part of it");
    if (!write_piece(to.file, piece, to.at + at)) return fail(file_failure("write data"));
    if (digest != nullptr) digest->add(piece);
    at += piece.size();
    if (!flushes || (at - flushed < flushed_bytes && at < bytes.value)) continue;
    if (!flush(to.file, to.at + flushed, to.at + at))
      return fail(file_failure("write data to its disk"));
    flushed = at;
  }
  return {};
}

}  // namespace orchid::executor
