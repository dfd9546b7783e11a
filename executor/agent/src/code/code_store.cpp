#include "code/code_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "foundation/files.h"
#include "protocol/digest.h"

namespace orchid::executor {
namespace {

// A file: this line, the digest of the code, the length of the key as 8 decimal digits, the key,
// the code.
constexpr std::string_view magic = "orchid code 1\n";
constexpr std::size_t digest_size = 71;
constexpr std::size_t length_digits = 8;

struct Parsed {
  std::string_view digest;
  std::string_view key;
  std::span<const std::byte> code;
};

Result<Parsed> parse(std::span<const std::byte> file) {
  const std::string_view text = as_text(file);
  const std::size_t head = magic.size() + digest_size + length_digits;
  const auto damaged = fail(ErrorCode::not_found, "damaged entry");
  if (text.size() < head || !text.starts_with(magic)) return damaged;
  std::size_t key_size = 0;
  for (const char digit : text.substr(magic.size() + digest_size, length_digits)) {
    if (digit < '0' || digit > '9') return damaged;
    key_size = key_size * 10 + static_cast<std::size_t>(digit - '0');
  }
  if (key_size > text.size() - head) return damaged;
  return Parsed{text.substr(magic.size(), digest_size), text.substr(head, key_size),
                file.subspan(head + key_size)};
}

}  // namespace

Result<CodeStore> CodeStore::open(Options options) {
  if (auto made = make_private_directory(options.directory); !made)
    return fail(std::move(made.error()).while_doing("opening the code store"));
  CodeStore store(std::move(options));
  store.make_room();
  return store;
}

std::filesystem::path CodeStore::path_of(const CodeKey& key) const {
  return options_.directory / (key.name() + ".code");
}

Result<std::vector<std::byte>> CodeStore::find(const CodeKey& key) {
  const std::filesystem::path path = path_of(key);
  auto file = read_file(path, largest_code);
  if (!file) return fail(ErrorCode::not_found, "not in the store");
  const auto parsed = parse(*file);
  std::error_code ignored;
  if (!parsed || parsed->key != key.text || digest_of(parsed->code) != parsed->digest) {
    std::filesystem::remove(path, ignored);
    return fail(ErrorCode::not_found, "a damaged entry was removed");
  }
  std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now(), ignored);
  return std::vector<std::byte>(parsed->code.begin(), parsed->code.end());
}

Result<void> CodeStore::insert(const CodeKey& key, std::span<const std::byte> code) {
  std::string head(magic);
  head += digest_of(code);
  head += fmt::format("{:0{}}", key.text.size(), length_digits) + key.text;
  std::vector<std::byte> file(head.size() + code.size());
  std::memcpy(file.data(), head.data(), head.size());
  std::ranges::copy(code, file.begin() + static_cast<std::ptrdiff_t>(head.size()));
  if (file.size() > options_.capacity.value)
    return fail(ErrorCode::too_large, "larger than the whole code store");
  used_ += file.size();
  if (used_ > options_.capacity.value) make_room(ByteCount{file.size()});
  return write_cache_file(path_of(key), file);
}

void CodeStore::make_room(ByteCount needed) {
  struct Item {
    std::filesystem::file_time_type used;
    std::uintmax_t size;
    std::filesystem::path path;
  };
  std::vector<Item> items;
  std::uintmax_t total = needed.value;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(options_.directory, error)) {
    if (entry.path().extension() != ".code") continue;
    items.push_back({entry.last_write_time(error), entry.file_size(error), entry.path()});
    total += items.back().size;
  }
  std::ranges::sort(items, {}, &Item::used);
  for (const Item& item : items) {
    if (total <= options_.capacity.value) break;
    std::filesystem::remove(item.path, error);
    total -= item.size;
  }
  used_ = total;
}

}  // namespace orchid::executor
