// src/waiting.h: blocks until a descriptor has something to read.
#pragma once
#include <chrono>
#include <optional>

namespace orchid::executor {

/// True when `fd` is readable or its peer has gone; false when `limit` has passed first. No limit:
/// waits for ever.
[[nodiscard]] bool wait_readable(int fd,
                                 std::optional<std::chrono::milliseconds> limit = std::nullopt);

}  // namespace orchid::executor
