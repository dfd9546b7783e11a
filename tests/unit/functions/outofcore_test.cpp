#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "outofcore/external_sort.h"

namespace {

using outofcore_sort::bytes_of;
using outofcore_sort::Job;

/// Fails from a certain request on; 0: never.
class StoreHere {
 public:
  explicit StoreHere(const Job& job, int fails_at = 0)
      : bytes_(outofcore_sort::room_for(job)), fails_at_(fails_at) {}
  bool put(std::uint64_t offset, std::span<const std::byte> bytes) {
    if (!may_do(offset, bytes.size())) return false;
    if (!bytes.empty()) std::memcpy(bytes_.data() + offset, bytes.data(), bytes.size());
    return true;
  }
  bool get(std::uint64_t offset, std::span<std::byte> bytes) {
    if (!may_do(offset, bytes.size())) return false;
    if (!bytes.empty()) std::memcpy(bytes.data(), bytes_.data() + offset, bytes.size());
    return true;
  }
  [[nodiscard]] std::vector<std::uint64_t> result() const {
    std::vector<std::uint64_t> numbers(bytes_.size() / bytes_of(2));
    if (!numbers.empty())
      std::memcpy(numbers.data(), bytes_.data() + bytes_.size() / 2, bytes_.size() / 2);
    return numbers;
  }
  [[nodiscard]] std::size_t largest() const { return largest_; }

 private:
  bool may_do(std::uint64_t offset, std::size_t size) {
    largest_ = std::max(largest_, size);
    REQUIRE(offset + size <= bytes_.size());
    return ++requests_ != fails_at_;
  }
  std::vector<std::byte> bytes_;
  int fails_at_;
  int requests_ = 0;
  std::size_t largest_ = 0;
};

}  // namespace

TEST_CASE("outofcore sorts whatever there is, with whatever memory") {
  for (const std::uint64_t count : {0, 1, 2, 7, 1000, 4096})
    for (const std::uint64_t memory : {1, 8, 64, 1000, 1 << 20}) {
      CAPTURE(count);
      CAPTURE(memory);
      const Job job{.count = count, .seed = 3, .memory = memory};
      StoreHere store(job);
      const auto digest = outofcore_sort::ExternalSort(store, job).run();
      REQUIRE(digest.has_value());
      std::vector<std::uint64_t> expected(count);
      for (std::uint64_t i = 0; i < count; ++i) expected[i] = outofcore_sort::number_at(i, 3);
      std::ranges::sort(expected);
      CHECK((store.result() == expected));
      CHECK(store.largest() <= std::max<std::uint64_t>(memory, sizeof(std::uint64_t)));
      const Job roomy{.count = count, .seed = 3, .memory = 1 << 20};
      StoreHere other(roomy);
      CHECK(outofcore_sort::ExternalSort(other, roomy).run() == digest);
    }
}

TEST_CASE("outofcore ends when its store fails, whenever that is") {
  const Job job{.count = 100, .seed = 1, .memory = 80};
  for (int request = 1; request <= 30; ++request) {
    StoreHere store(job, request);
    CHECK_FALSE(outofcore_sort::ExternalSort(store, job).run().has_value());
  }
}
