// function_abi/core_memory.h: the device memory of a call whose kernels run on cores: memory of the
// process, bounded like all of it. For the worker, and for native twins. Not installed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>

namespace orchid::function_abi {

/// Owned by the entry's thread.
class CoreMemory {
 public:
  static constexpr std::size_t alignment = 256;

  /// Null: there is no more.
  [[nodiscard]] void* alloc(std::size_t size) {
    if (size > std::numeric_limits<std::size_t>::max() - alignment) return nullptr;
    const std::size_t whole = (size + alignment - 1) / alignment * alignment;
    Block block{.bytes = Bytes(static_cast<std::byte*>(std::aligned_alloc(alignment, whole))),
                .size = size};
    if (block.bytes == nullptr) return nullptr;
    void* memory = block.bytes.get();
    try {
      blocks_.emplace(reinterpret_cast<std::uintptr_t>(memory), std::move(block));
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
    return memory;
  }
  /// False: it is none of those that there are.
  [[nodiscard]] bool free(void* memory) {
    return blocks_.erase(reinterpret_cast<std::uintptr_t>(memory)) == 1;
  }
  /// Whether these bytes lie within one of them.
  [[nodiscard]] bool holds(const void* start, std::size_t size) const {
    const auto first = reinterpret_cast<std::uintptr_t>(start);
    const auto after = blocks_.upper_bound(first);
    if (after == blocks_.begin()) return false;
    const auto& [block_start, block] = *std::prev(after);
    const std::size_t offset = first - block_start;
    return offset <= block.size && size <= block.size - offset;
  }
  void free_all() { blocks_.clear(); }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  using Bytes = std::unique_ptr<std::byte, Free>;
  struct Block {
    Bytes bytes;
    std::size_t size = 0;
  };
  std::map<std::uintptr_t, Block> blocks_;  // by their first byte
};

/// What a copy is told whose device side `holds` does not know.
[[nodiscard]] inline std::string not_device_memory(std::string_view function, std::size_t size) {
  return std::string(function) + ": these " + std::to_string(size) +
         " bytes do not lie within one piece of device memory of this call";
}
/// The same for memory that there is none of.
[[nodiscard]] inline std::string no_device_memory(std::size_t size) {
  return "there is no room for " + std::to_string(size) +
         " bytes more of device memory: let the function use less, or raise its memory limit";
}

}  // namespace orchid::function_abi
