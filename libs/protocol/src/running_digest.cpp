#include "protocol/running_digest.h"

#include <openssl/evp.h>

#include <array>

#include "foundation/random.h"

namespace orchid {

struct RunningDigest::State {
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(),
                                                                  EVP_MD_CTX_free};
  bool is_good = true;
};

RunningDigest::RunningDigest() : state_(std::make_unique<State>()) {
  state_->is_good = state_->context != nullptr &&
                    EVP_DigestInit_ex(state_->context.get(), EVP_sha256(), nullptr) == 1;
}

RunningDigest::~RunningDigest() = default;

void RunningDigest::add(std::span<const std::byte> piece) {
  state_->is_good =
      state_->is_good && EVP_DigestUpdate(state_->context.get(), piece.data(), piece.size()) == 1;
}

std::string RunningDigest::finish() {
  constexpr std::size_t sha256_bytes = 32;
  std::array<std::byte, sha256_bytes> hash{};
  unsigned size = 0;
  const bool done = state_->is_good &&
                    EVP_DigestFinal_ex(state_->context.get(),
                                       reinterpret_cast<unsigned char*>(hash.data()), &size) == 1 &&
                    size == hash.size();
  return done ? "sha256:" + to_hex(hash) : std::string();
}

}  // namespace orchid
