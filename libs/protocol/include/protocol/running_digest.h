// protocol/running_digest.h: the digest of bytes that come in pieces.
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace orchid {

/// Of one thread. As `digest_of` of all pieces together.
class RunningDigest {
 public:
  RunningDigest();
  ~RunningDigest();
  RunningDigest(const RunningDigest&) = delete;
  RunningDigest& operator=(const RunningDigest&) = delete;

  void add(std::span<const std::byte> piece);
  /// "sha256:…"; the last call. Empty: the cryptographic library has failed.
  [[nodiscard]] std::string finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace orchid
