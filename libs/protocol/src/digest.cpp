#include "protocol/digest.h"

#include <openssl/sha.h>

#include <algorithm>
#include <array>

#include "foundation/random.h"

namespace orchid {
namespace {
constexpr std::string_view prefix = "sha256:";
}

std::string digest_of(std::span<const std::byte> content) {
  std::array<std::byte, SHA256_DIGEST_LENGTH> hash{};
  SHA256(reinterpret_cast<const unsigned char*>(content.data()), content.size(),
         reinterpret_cast<unsigned char*>(hash.data()));
  return std::string(prefix) + to_hex(hash);
}

bool is_digest(std::string_view text) {
  if (!text.starts_with(prefix) || text.size() != prefix.size() + 64) return false;
  return std::ranges::all_of(text.substr(prefix.size()), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  });
}

std::string_view short_digest(std::string_view digest) {
  return digest.starts_with(prefix) ? digest.substr(prefix.size(), 12) : digest.substr(0, 12);
}

}  // namespace orchid
