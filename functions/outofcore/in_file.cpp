// outofcore-in-file COUNT SEED MEMORY FOLDER: the same sort as the function's, with a file of this
// host in place of leased memory. Prints the digest.
#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string_view>

#include "external_sort.h"

namespace {

/// A file without a name, which is gone with this process.
class File {
 public:
  explicit File(const char* folder) : file_(::open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)) {}
  ~File() {
    if (file_ >= 0) ::close(file_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] bool good() const { return file_ >= 0; }
  bool put(std::uint64_t offset, std::span<const std::byte> bytes) const {
    while (!bytes.empty()) {
      const ssize_t done = ::pwrite(file_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (done <= 0) return false;
      offset += static_cast<std::uint64_t>(done);
      bytes = bytes.subspan(static_cast<std::size_t>(done));
    }
    return true;
  }
  bool get(std::uint64_t offset, std::span<std::byte> bytes) const {
    while (!bytes.empty()) {
      const ssize_t done = ::pread(file_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (done <= 0) return false;
      offset += static_cast<std::uint64_t>(done);
      bytes = bytes.subspan(static_cast<std::size_t>(done));
    }
    return true;
  }

 private:
  int file_;
};

bool read_number(std::string_view text, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

int main(int argc, char** argv) {
  outofcore_sort::Job job;
  if (argc != 5 || !read_number(argv[1], job.count) || !read_number(argv[2], job.seed) ||
      !read_number(argv[3], job.memory)) {
    std::fputs("usage: outofcore-in-file COUNT SEED MEMORY FOLDER\n", stderr);
    return 2;
  }
  const File file(argv[4]);
  if (!file.good()) {
    std::perror(argv[4]);
    return 1;
  }
  const auto digest = outofcore_sort::ExternalSort(file, job).run();
  if (!digest) {
    std::perror("the file");
    return 1;
  }
  std::printf("%llu\n", static_cast<unsigned long long>(*digest));
  return 0;
}
