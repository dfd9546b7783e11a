// ucx/transfer_window.h: what is under way between a transfer and a pipe.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "foundation/result.h"
#include "transport/ucx_transfer.h"

namespace orchid::transport {

/// Memory for `transfer_window` parts, by their number; a place is taken when it is first used.
class TransferWindow {
 public:
  [[nodiscard]] std::span<std::byte> part(std::uint64_t number) {
    auto& place = places_[number % transfer_window];
    if (!place) place = std::make_unique_for_overwrite<Part>();
    return *place;
  }

 private:
  using Part = std::array<std::byte, transfer_part>;
  std::array<std::unique_ptr<Part>, transfer_window> places_{};
};

/// Bytes that came out of the pipe; nothing: there are none now. Errors: `cancelled` (it has
/// ended), `system`.
[[nodiscard]] Result<std::optional<std::size_t>> read_pipe(int pipe, std::span<std::byte> into);
/// Bytes that went into the pipe; nothing: it is full. Errors: `cancelled` (nobody reads there any
/// more), `system`.
[[nodiscard]] Result<std::optional<std::size_t>> write_pipe(int pipe,
                                                            std::span<const std::byte> bytes);

}  // namespace orchid::transport
