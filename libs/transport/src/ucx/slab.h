// ucx/slab.h: the memory for large payloads of one direction, at one end of a lane between hosts.
#pragma once
#include <cstddef>
#include <span>

#include "foundation/result.h"

namespace orchid::transport {

/// Private memory that costs nothing until it is touched; unmapped at the end of its life.
class Slab {
 public:
  [[nodiscard]] static Result<Slab> map(std::size_t size);
  Slab(Slab&& other) noexcept;
  Slab& operator=(Slab&& other) noexcept;
  Slab(const Slab&) = delete;
  Slab& operator=(const Slab&) = delete;
  ~Slab();
  [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }
  /// Gives all but the first MiB back to the system; its content is lost.
  void trim() const;

 private:
  explicit Slab(std::span<std::byte> bytes) : bytes_(bytes) {}
  std::span<std::byte> bytes_;
};

}  // namespace orchid::transport
