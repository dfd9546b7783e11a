#include "terminal/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "foundation/duplicate.h"
#include "foundation/random.h"

namespace orchid::cli {

Result<OutputFile> OutputFile::open(const std::string& path) {
  if (path == "-") {
    auto out = duplicate(STDOUT_FILENO);
    if (!out) return fail(std::move(out.error()).while_doing("standard output"));
    return OutputFile(std::move(*out), path, "");
  }
  std::error_code error;
  const auto kind = std::filesystem::status(path, error).type();
  if (kind != std::filesystem::file_type::not_found &&
      kind != std::filesystem::file_type::regular) {
    UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file) return fail_errno("open " + path);
    return OutputFile(std::move(file), path, "");
  }
  std::string beside = path + "." + random_hex(6) + ".tmp";
  UniqueFd file(::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file) return fail_errno("create a file beside " + path);
  return OutputFile(std::move(file), path, std::move(beside));
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : file_(std::move(other.file_)),
      path_(std::move(other.path_)),
      beside_(std::exchange(other.beside_, {})) {}

OutputFile::~OutputFile() {
  if (!beside_.empty()) ::unlink(beside_.c_str());
}

Result<void> OutputFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail_errno("writing the output");
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

Result<void> OutputFile::finish() {
  if (beside_.empty()) return {};
  if (::fsync(file_.get()) != 0) return fail_errno("write " + path_);
  if (::rename(beside_.c_str(), path_.c_str()) != 0) return fail_errno("write " + path_);
  beside_.clear();
  return {};
}

}  // namespace orchid::cli
