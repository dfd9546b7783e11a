// orchid/leased_memory.hpp: memory of this or another host that a function uses, in C++ (C++20), a
// thin layer over orchid_leased_* in function.h.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "orchid/function.hpp"

namespace orchid {

/// Leased memory that the call has opened, as orchid_leased_open() does: its program has taken the
/// lease, and gives the call its id. Lives as long as the call. Whatever fails, the call's error
/// says why, once the function returns without a value.
class LeasedMemory {
 public:
  [[nodiscard]] static std::optional<LeasedMemory> open(Call& call, const std::string& lease) {
    std::uint32_t memory = 0;
    std::uint64_t size = 0;
    if (orchid_leased_open(call.handle(), lease.c_str(), &memory, &size) != ORCHID_OK)
      return std::nullopt;
    return LeasedMemory(call, memory, size);
  }
  [[nodiscard]] std::uint64_t size() const { return size_; }  // in bytes
  /// False: not all of it is there (ORCHID_MEMORY_LOST), or nothing was done.
  [[nodiscard]] bool put(std::uint64_t offset, std::span<const std::byte> bytes) {
    return orchid_leased_put(call_->handle(), memory_, offset, bytes.data(), bytes.size()) ==
           ORCHID_OK;
  }
  [[nodiscard]] bool get(std::uint64_t offset, std::span<std::byte> bytes) {
    return orchid_leased_get(call_->handle(), memory_, offset, bytes.data(), bytes.size()) ==
           ORCHID_OK;
  }
  /// What was there before. Nothing: see above; it may have happened (ORCHID_MEMORY_UNKNOWN).
  [[nodiscard]] std::optional<std::uint64_t> fetch_add(std::uint64_t offset, std::uint64_t add) {
    std::uint64_t before = 0;
    if (orchid_leased_fetch_add(call_->handle(), memory_, offset, add, &before) != ORCHID_OK)
      return std::nullopt;
    return before;
  }
  [[nodiscard]] std::optional<std::uint64_t> compare_swap(std::uint64_t offset,
                                                          std::uint64_t expected,
                                                          std::uint64_t desired) {
    std::uint64_t before = 0;
    if (orchid_leased_compare_swap(call_->handle(), memory_, offset, expected, desired, &before) !=
        ORCHID_OK)
      return std::nullopt;
    return before;
  }
  [[nodiscard]] bool fence() { return orchid_leased_fence(call_->handle(), memory_) == ORCHID_OK; }

 private:
  LeasedMemory(Call& call, std::uint32_t memory, std::uint64_t size)
      : call_(&call), memory_(memory), size_(size) {}
  Call* call_;
  std::uint32_t memory_;
  std::uint64_t size_;
};

}  // namespace orchid
