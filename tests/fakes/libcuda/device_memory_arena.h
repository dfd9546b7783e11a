// device_memory_arena.h: the memory of the fake GPU: one range of the process's own, reserved when
// the context is made.
#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

namespace fake_cuda {

/// Any thread.
class Arena {
 public:
  [[nodiscard]] bool reserve(std::uint64_t bytes);
  /// All of it holds this word, as somebody else would have left it.
  void leave(std::uint64_t word);
  /// First fit. Nothing: it does not fit.
  [[nodiscard]] std::optional<std::uint64_t> allocate(std::uint64_t size);
  [[nodiscard]] bool free(std::uint64_t address);
  /// Whether all of these bytes are of one piece.
  [[nodiscard]] bool has(std::uint64_t address, std::uint64_t size);

 private:
  std::mutex mutex_;
  std::uint64_t base_ = 0;
  std::uint64_t bytes_ = 0;
  std::map<std::uint64_t, std::uint64_t> pieces_;  // address: bytes
};

}  // namespace fake_cuda
