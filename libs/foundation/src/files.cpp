#include "foundation/files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>

#include "foundation/random.h"

namespace orchid {
namespace {

Result<void> write_all(int fd, std::span<const std::byte> content) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail_errno("write");
    content = content.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

}  // namespace

Result<std::vector<std::byte>> read_file(const std::filesystem::path& path, ByteCount limit) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) {
    const int error_number = errno;
    const auto code = error_number == ENOENT ? ErrorCode::not_found : ErrorCode::system;
    return fail(system_failure(code, "open " + path.string(), error_number));
  }
  std::vector<std::byte> content;
  constexpr std::size_t step = 64 * 1024;
  while (true) {
    const std::size_t used = content.size();
    content.resize(used + step);
    const ssize_t got = ::read(fd.get(), content.data() + used, step);
    if (got < 0 && errno == EINTR) {
      content.resize(used);
      continue;
    }
    if (got < 0) return fail_errno("read " + path.string());
    content.resize(used + static_cast<std::size_t>(got));
    if (content.size() > limit.value)
      return fail(ErrorCode::too_large, path.string() + " is larger than " + to_string(limit));
    if (got == 0) return content;
  }
}

namespace {

enum class Sync : bool { no, yes };

/// Writes beside `path` and renames.
Result<void> replace_file(const std::filesystem::path& path, std::span<const std::byte> content,
                          unsigned mode, Sync sync) {
  const std::filesystem::path temporary = path.string() + "." + random_hex(6) + ".tmp";
  UniqueFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!fd) return fail_errno("create " + temporary.string());
  auto written = write_all(fd.get(), content);
  if (written && sync == Sync::yes && ::fsync(fd.get()) != 0) written = fail_errno("fsync");
  if (written && ::rename(temporary.c_str(), path.c_str()) != 0) written = fail_errno("rename");
  if (!written) {
    ::unlink(temporary.c_str());
    return fail(std::move(written.error()).while_doing("writing " + path.string()));
  }
  return {};
}

}  // namespace

Result<void> write_cache_file(const std::filesystem::path& path,
                              std::span<const std::byte> content) {
  return replace_file(path, content, 0600, Sync::no);
}

Result<void> write_file_atomically(const std::filesystem::path& path,
                                   std::span<const std::byte> content, unsigned mode) {
  if (auto replaced = replace_file(path, content, mode, Sync::yes); !replaced) return replaced;
  const UniqueFd directory(::open(path.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory || ::fsync(directory.get()) != 0)
    return fail_errno("fsync " + path.parent_path().string());
  return {};
}

Result<void> make_private_directory(const std::filesystem::path& path) {
  std::error_code error;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), error);
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return fail_errno("mkdir " + path.string());
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) return fail_errno("stat " + path.string());
  if (!S_ISDIR(status.st_mode) || status.st_uid != ::geteuid() || (status.st_mode & 022) != 0)
    return fail(
        ErrorCode::denied,
        path.string() +
            " must be a directory that only you can write to; remove it or choose another place");
  return {};
}

Result<UniqueFd> make_sealed_memory(std::string_view name, std::span<const std::byte> content) {
  UniqueFd fd(::memfd_create(std::string(name).c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return fail_errno("memfd_create");
  if (auto written = write_all(fd.get(), content); !written)
    return fail(std::move(written.error()));
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return fail_errno("seal a memory file");
  return fd;
}

void occupy_standard_descriptors() {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(number, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest free number is this one. Opened for the other direction, so that use fails.
    const int mode = number == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    [[maybe_unused]] const int opened = ::open("/dev/null", mode);
  }
}

Result<MappedFile> MappedFile::map(int fd, Options options) {
  if (options.require_seals) {
    constexpr int needed = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW;
    const int seals = ::fcntl(fd, F_GET_SEALS);
    if (seals < 0 || (seals & needed) != needed)
      return fail(ErrorCode::bad_request, "the descriptor is not a sealed memory file");
  }
  // Not fstat: the C library may ask by path, which a sandbox refuses.
  const off_t end = ::lseek(fd, 0, SEEK_END);
  if (end < 0) return fail_errno("lseek");
  const auto size = static_cast<std::size_t>(end);
  if (size > options.limit.value)
    return fail(ErrorCode::too_large, "larger than " + to_string(options.limit));
  if (size == 0) return MappedFile({});
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (address == MAP_FAILED) return fail_errno("mmap");
  return MappedFile({static_cast<const std::byte*>(address), size});
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}
MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace orchid
