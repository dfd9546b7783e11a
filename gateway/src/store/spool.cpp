#include "store/spool.h"

#include "foundation/files.h"
#include "foundation/log.h"
#include "protocol/digest.h"

namespace orchid::gateway {
namespace {
constexpr std::string_view prefix = "sha256:";
}

Result<Spool> Spool::open(std::filesystem::path directory) {
  if (auto made = make_private_directory(directory); !made) return fail(std::move(made.error()));
  return Spool(std::move(directory));
}

std::filesystem::path Spool::path_of(std::string_view digest) const {
  return directory_ / digest.substr(prefix.size());
}

Result<std::string> Spool::put(std::span<const std::byte> content) {
  std::string digest = digest_of(content);
  std::error_code error;
  if (std::filesystem::exists(path_of(digest), error)) return digest;
  if (auto written = write_file_atomically(path_of(digest), content); !written)
    return fail(std::move(written.error()));
  return digest;
}

Result<std::vector<std::byte>> Spool::get(std::string_view digest, ByteCount limit) const {
  auto content = read_file(path_of(digest), limit);
  if (content && digest_of(*content) != digest)
    return fail(ErrorCode::system,
                "the spool file " + path_of(digest).string() +
                    " is damaged: restore it from a backup, or deploy the function again");
  return content;
}

void Spool::remove(std::string_view digest) {
  std::error_code error;
  std::filesystem::remove(path_of(digest), error);
}

void Spool::sweep(const std::function<bool(const std::string&)>& is_used) {
  std::error_code error;
  std::size_t removed = 0;
  for (const auto& file : std::filesystem::directory_iterator(directory_, error)) {
    const std::string digest = std::string(prefix) + file.path().filename().string();
    if (is_digest(digest) && is_used(digest)) continue;
    std::filesystem::remove(file.path(), error);
    ++removed;
  }
  if (removed > 0) log::info("event=spool_swept files={}", removed);
}

}  // namespace orchid::gateway
