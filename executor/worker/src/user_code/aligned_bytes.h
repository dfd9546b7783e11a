// user_code/aligned_bytes.h: bytes of the worker's own memory that entries read or write: aligned
// to a cache line, as those in a lane are.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

namespace orchid::executor {

/// One owner. Nothing of this throws.
class AlignedBytes {
 public:
  static constexpr std::size_t alignment = 64;

  AlignedBytes() = default;
  AlignedBytes(AlignedBytes&& other) noexcept
      : memory_(std::move(other.memory_)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  AlignedBytes& operator=(AlignedBytes&& other) noexcept {
    memory_ = std::move(other.memory_);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, 0);
    return *this;
  }
  AlignedBytes(const AlignedBytes&) = delete;
  AlignedBytes& operator=(const AlignedBytes&) = delete;
  ~AlignedBytes() = default;

  /// What was written is kept. False: there is no memory for it, and nothing has changed.
  [[nodiscard]] bool resize(std::size_t size) noexcept {
    if (size > capacity_) {
      // Who appends little by little must not copy all each time.
      const std::size_t whole =
          (std::max(size, capacity_ + capacity_ / 2) + alignment - 1) / alignment * alignment;
      Memory grown(whole < size ? nullptr
                                : static_cast<std::byte*>(std::aligned_alloc(alignment, whole)));
      if (grown == nullptr) return false;
      if (size_ > 0) std::memcpy(grown.get(), memory_.get(), size_);
      memory_ = std::move(grown);
      capacity_ = whole;
    }
    size_ = size;
    return true;
  }
  /// False as above.
  [[nodiscard]] bool assign(std::span<const std::byte> bytes) noexcept {
    size_ = 0;
    if (!resize(bytes.size())) return false;
    if (!bytes.empty()) std::memcpy(memory_.get(), bytes.data(), bytes.size());
    return true;
  }
  [[nodiscard]] std::byte* data() const { return memory_.get(); }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::span<std::byte> bytes() const { return {memory_.get(), size_}; }

 private:
  struct Free {
    void operator()(std::byte* memory) const noexcept { std::free(memory); }
  };
  using Memory = std::unique_ptr<std::byte, Free>;
  Memory memory_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace orchid::executor
