// foundation/amounts.h: whole numbers, sizes and durations as people write them. Command lines,
// configuration files and HTTP queries share this grammar; what is too little or too much is the
// caller's to say.
//
//   whole number  digits: 64
//   size          a whole number and B, KiB, MiB or GiB: 64MiB, "1 GiB"; without a unit bytes
//   duration      numbers, with a decimal point or without, each with ns, us, ms, s, m (or min), h
//                 or d, which are added up: 250ms, 1.5s, "1h 30m", 48h; without a unit seconds.
//                 Or as Slurm writes it: MM:SS, HH:MM:SS, D-HH:MM:SS
//
// Options of sbatch (`--orchid-share=mem:8G`) are read as sbatch reads sizes, without this library:
// scheduler-plugin/share's share_option.h.
#pragma once
#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "foundation/result.h"
#include "foundation/units.h"

namespace orchid {

inline constexpr std::chrono::nanoseconds longest_duration = std::chrono::hours(24 * 365);

struct NumberRange {
  std::uint64_t least = 0;
  std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
};
struct SizeRange {
  ByteCount least{};
  ByteCount most{std::numeric_limits<std::uint64_t>::max()};
};
struct DurationRange {
  std::chrono::nanoseconds least{};
  std::chrono::nanoseconds most = longest_duration;
};

/// Errors of all three: `bad_request`, with the text, the range and examples of what is taken.
[[nodiscard]] Result<std::uint64_t> parse_whole_number(std::string_view text,
                                                       NumberRange range = {});
[[nodiscard]] Result<ByteCount> parse_byte_count(std::string_view text, SizeRange range = {});
[[nodiscard]] Result<std::chrono::nanoseconds> parse_duration(std::string_view text,
                                                              DurationRange range = {});

/// "10ms", "48h", "1h 30m", as `parse_duration` reads it.
[[nodiscard]] std::string to_duration_text(std::chrono::nanoseconds duration);

}  // namespace orchid
