#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "transport/crew_mesh.h"

namespace orchid::transport {

Result<ConnectionKey> crew_pair_key(std::span<const std::byte> secret, std::uint32_t one,
                                    std::uint32_t other) {
  const std::array<std::uint32_t, 2> numbers{std::min(one, other), std::max(one, other)};
  constexpr std::string_view purpose = "orchid crew pair";
  std::array<unsigned char, purpose.size() + sizeof(numbers)> message{};
  std::memcpy(message.data(), purpose.data(), purpose.size());
  std::memcpy(message.data() + purpose.size(), numbers.data(), sizeof(numbers));
  std::array<unsigned char, EVP_MAX_MD_SIZE> code{};
  unsigned size = 0;
  if (::HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()), message.data(),
             message.size(), code.data(), &size) == nullptr ||
      size < sizeof(ConnectionKey))
    return fail(ErrorCode::system, "the cryptographic library makes no key for a crew's pair");
  ConnectionKey key{};
  std::memcpy(key.data(), code.data(), key.size());
  return key;
}

}  // namespace orchid::transport
