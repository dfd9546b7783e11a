#include "flow_run/variant_file.h"

#include <chrono>
#include <string>
#include <system_error>
#include <utility>

#include "flow/kept_variants.h"
#include "foundation/file_lock.h"
#include "foundation/files.h"
#include "foundation/units.h"

namespace orchid::flow {
namespace {

constexpr ByteCount most_bytes{4ULL << 20};
constexpr std::chrono::seconds lock_patience{2};

}  // namespace

std::vector<KeptVariants> read_variants(const std::filesystem::path& file) {
  const auto content = read_file(file, most_bytes);
  if (!content) return {};
  auto kept = parse_kept_variants(as_text(*content));
  return kept ? std::move(*kept) : std::vector<KeptVariants>();
}

Result<void> keep_variants(const std::filesystem::path& file, std::vector<KeptVariants> learned) {
  std::error_code error;
  std::filesystem::create_directories(file.parent_path().parent_path(), error);
  if (auto made = make_private_directory(file.parent_path()); !made) return made;
  const auto lock = lock_file(file.string() + ".lock", lock_patience, "another flow writes to it");
  if (!lock) return fail(lock.error());
  const std::string text = to_json(with_learned(read_variants(file), std::move(learned)));
  return write_cache_file(file, as_bytes(text));
}

}  // namespace orchid::flow
