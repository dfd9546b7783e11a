// orchid/leased_memory.hpp: memory of this or another host that a function uses, in C++ (C++20), a
// thin layer over orchid_leased_* in function.h.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orchid/function.hpp"

namespace orchid {

/// Rows of `row` bytes each, whose beginnings are `stride` bytes apart, as a column of a matrix has
/// them. Here their bytes lie one behind the other.
struct LeasedRows {
  std::uint64_t offset = 0;
  std::uint64_t row = 0;
  std::uint64_t stride = 0;  // at least `row`
  std::uint64_t count = 1;
};

/// Puts and gets that are on their way. A value, as long as the call.
class LeasedSteps {
 public:
  /// Until they are done. False: one is not; once more says the same.
  [[nodiscard]] bool wait() {
    return orchid_leased_wait(call_->handle(), memory_, ticket_) == ORCHID_OK;
  }

 private:
  friend class LeasedBatch;
  LeasedSteps(Call& call, std::uint32_t memory, std::uint64_t ticket)
      : call_(&call), memory_(memory), ticket_(ticket) {}
  Call* call_;
  std::uint32_t memory_;
  std::uint64_t ticket_;
};

/// Puts and gets that go one behind the other, without waiting for each. What is given to it stays
/// where it is until they are done.
class LeasedBatch {
 public:
  LeasedBatch& put(std::uint64_t offset, std::span<const std::byte> bytes) {
    return put(LeasedRows{.offset = offset, .row = bytes.size()}, bytes);
  }
  LeasedBatch& get(std::uint64_t offset, std::span<std::byte> bytes) {
    return get(LeasedRows{.offset = offset, .row = bytes.size()}, bytes);
  }
  LeasedBatch& put(const LeasedRows& rows, std::span<const std::byte> bytes) {
    return add(rows, bytes.size(), bytes.data(), nullptr);
  }
  LeasedBatch& get(const LeasedRows& rows, std::span<std::byte> bytes) {
    return add(rows, bytes.size(), nullptr, bytes.data());
  }
  /// Does all of them, in their order, and forgets them. False: as of LeasedMemory::put; if one is
  /// not within the memory, none is done.
  [[nodiscard]] bool run() {
    const auto steps = start();
    return steps && LeasedSteps(*steps).wait();
  }
  /// Returns when all are on their way, and forgets them: what is put may be changed again. 16
  /// parts of 64 KiB of a memory are on their way at most; for more, this waits.
  [[nodiscard]] std::optional<LeasedSteps> start() {
    const std::vector<orchid_leased_step> steps = std::exchange(steps_, {});
    if (!std::exchange(fits_, true)) {
      constexpr std::string_view why = "bytes that are given for rows of leased memory do not fit";
      orchid_error(call_->handle(), why.data(), why.size());
      return std::nullopt;
    }
    std::uint64_t ticket = 0;
    const std::int32_t status =
        orchid_leased_start(call_->handle(), memory_, steps.data(), steps.size(), &ticket);
    if (status != ORCHID_OK) return std::nullopt;
    return LeasedSteps(*call_, memory_, ticket);
  }

 private:
  friend class LeasedMemory;
  LeasedBatch(Call& call, std::uint32_t memory) : call_(&call), memory_(memory) {}
  LeasedBatch& add(const LeasedRows& rows, std::uint64_t size, const void* put, void* get) {
    const bool fits = rows.count == 0 || rows.row == 0
                          ? size == 0
                          : size % rows.count == 0 && size / rows.count == rows.row;
    fits_ = fits_ && fits;
    steps_.push_back({rows.offset, rows.row, rows.stride, rows.count, put, get});
    return *this;
  }
  Call* call_;
  std::uint32_t memory_;
  std::vector<orchid_leased_step> steps_;
  bool fits_ = true;
};

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
  /// The same of rows.
  [[nodiscard]] bool put(const LeasedRows& rows, std::span<const std::byte> bytes) {
    return batch().put(rows, bytes).run();
  }
  [[nodiscard]] bool get(const LeasedRows& rows, std::span<std::byte> bytes) {
    return batch().get(rows, bytes).run();
  }
  /// Asks for the bytes, and returns: they are there when what it gives was waited for, and `bytes`
  /// stay where they are until then.
  [[nodiscard]] std::optional<LeasedSteps> get_async(std::uint64_t offset,
                                                     std::span<std::byte> bytes) {
    return batch().get(offset, bytes).start();
  }
  [[nodiscard]] LeasedBatch batch() { return {*call_, memory_}; }
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
