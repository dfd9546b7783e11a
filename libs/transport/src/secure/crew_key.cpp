#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <vector>

#include "secure/crew_proof.h"
#include "transport/crew_mesh.h"

namespace orchid::transport {

Result<CrewProof> make_crew_proof(std::span<const std::byte> key, std::string_view purpose,
                                  std::initializer_list<std::span<const std::byte>> parts) {
  const auto text = std::as_bytes(std::span(purpose));
  std::vector<std::byte> message(text.begin(), text.end());
  for (const auto part : parts) message.insert(message.end(), part.begin(), part.end());
  CrewProof proof{};
  unsigned size = 0;
  if (::HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
             reinterpret_cast<const unsigned char*>(message.data()), message.size(),
             reinterpret_cast<unsigned char*>(proof.data()), &size) == nullptr ||
      size != proof.size())
    return fail(ErrorCode::system, "the cryptographic library makes nothing of a crew's key");
  return proof;
}

Result<ConnectionKey> crew_pair_key(std::span<const std::byte> secret, std::uint32_t one,
                                    std::uint32_t other) {
  const std::array<std::uint32_t, 2> numbers{std::min(one, other), std::max(one, other)};
  const auto proof =
      make_crew_proof(secret, "orchid crew pair", {std::as_bytes(std::span(numbers))});
  if (!proof) return fail(proof.error());
  ConnectionKey key{};
  std::copy_n(proof->begin(), key.size(), key.begin());
  return key;
}

}  // namespace orchid::transport
