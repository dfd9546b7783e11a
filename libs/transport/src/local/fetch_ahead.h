// local/fetch_ahead.h: payloads come from another core's cache line by line. Asked for together and
// in time they come while other work is done.
#pragma once
#include <algorithm>
#include <cstddef>

#include "transport/lane_layout.h"

namespace orchid::transport {

/// Of larger payloads only so much: a core keeps few fetches under way.
constexpr std::size_t fetched_ahead = 4096;
constexpr std::size_t cache_line = 64;

inline void fetch_to_read(const std::byte* start, std::size_t size) {
  for (std::size_t at = 0; at < std::min(size, fetched_ahead); at += cache_line)
    __builtin_prefetch(start + at, 0);
}
inline void fetch_to_write(const std::byte* start, std::size_t size) {
  for (std::size_t at = 0; at < std::min(size, fetched_ahead); at += cache_line)
    __builtin_prefetch(start + at, 1);
}

}  // namespace orchid::transport
