#include "protocol/running_digest.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <span>
#include <string>

#include "foundation/files.h"
#include "protocol/digest.h"

namespace orchid {

TEST_CASE("the digest of pieces is that of the whole, however it is cut") {
  const std::string whole(100'001, 'x');
  for (const std::size_t size : {std::size_t{1}, std::size_t{63}, std::size_t{64}, whole.size()}) {
    RunningDigest digest;
    std::span<const std::byte> left = as_bytes(whole);
    while (!left.empty()) {
      const auto piece = left.first(std::min(size, left.size()));
      digest.add(piece);
      left = left.subspan(piece.size());
    }
    CHECK(digest.finish() == digest_of(as_bytes(whole)));
  }
  // FIPS 180-4, of nothing.
  CHECK(RunningDigest().finish() ==
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

}  // namespace orchid
