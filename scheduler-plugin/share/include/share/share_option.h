// share/share_option.h: what of a job is shared, as people write it: "cores:4,mem:8G,bandwidth:2G".
// Nothing but this header and foundation/numbers.h is needed, no memory is allocated and nothing is
// thrown: the plugin in Slurm's programs reads it too.
#pragma once
#include <cstdint>
#include <limits>
#include <string_view>

#include "foundation/numbers.h"

namespace orchid::share {

/// On each node of the job.
struct ShareOption {
  std::uint32_t cores = 0;            // at most; 0: all that the job does not use
  std::uint64_t memory_bytes = 0;     // 0: as much of the job's memory as of its cores
  std::uint64_t bandwidth_bytes = 0;  // that functions may move in a second; 0: all
  friend bool operator==(const ShareOption&, const ShareOption&) = default;
};

struct ParsedShareOption {
  ShareOption option;
  const char* fault = nullptr;  // what is wrong with the text, for people; null: nothing
};

namespace detail {

/// True: it began with `name`, and has lost it.
inline bool takes_off(std::string_view& part, std::string_view name) {
  if (!part.starts_with(name)) return false;
  part.remove_prefix(name.size());
  return true;
}

inline const char* read_cores(std::string_view text, ShareOption& option) {
  constexpr std::uint64_t most = 65'536;
  option.cores = 0;
  if (text == "auto") return nullptr;
  const auto number = parse_number<std::uint64_t>(text);
  if (!number || *number == 0 || *number > most)
    return "write cores:auto, or cores:N with how many of each node's cores may be shared";
  option.cores = static_cast<std::uint32_t>(*number);
  return nullptr;
}

/// "512M", "8G", "8GiB"; without a unit MiB, as Slurm counts memory. `fault`, if it is less than
/// 64 MiB or no such amount.
inline const char* read_bytes(std::string_view text, const char* fault, std::uint64_t& bytes) {
  constexpr std::uint64_t least = 64ULL << 20;
  if (text.ends_with("iB")) text.remove_suffix(2);
  unsigned shift = 20;
  if (!text.empty()) {
    constexpr std::string_view units = "KMGT";
    if (const auto unit = units.find(text.back()); unit != std::string_view::npos) {
      shift = 10 * (static_cast<unsigned>(unit) + 1);
      text.remove_suffix(1);
    }
  }
  const auto amount = parse_number<std::uint64_t>(text);
  if (!amount || *amount > std::numeric_limits<std::uint64_t>::max() >> shift ||
      *amount << shift < least)
    return fault;
  bytes = *amount << shift;
  return nullptr;
}

}  // namespace detail

/// "", "auto", "cores:4", "auto,mem:8G", "cores:auto,mem:8G,bandwidth:2G", in any order. Of a part
/// that comes twice the last one counts.
inline ParsedShareOption parse_share_option(std::string_view text) {
  ParsedShareOption parsed;
  if (text.empty()) return parsed;
  while (parsed.fault == nullptr) {
    const auto comma = text.find(',');
    std::string_view part(text.data(), comma == std::string_view::npos ? text.size() : comma);
    if (part == "auto" || detail::takes_off(part, "cores:"))
      parsed.fault = detail::read_cores(part, parsed.option);
    else if (detail::takes_off(part, "mem:"))
      parsed.fault = detail::read_bytes(
          part, "write mem:SIZE with at least 64M, such as 512M or 8G", parsed.option.memory_bytes);
    else if (detail::takes_off(part, "bandwidth:"))
      parsed.fault = detail::read_bytes(
          part, "write bandwidth:SIZE with at least 64M per second, such as 512M or 2G",
          parsed.option.bandwidth_bytes);
    else
      parsed.fault = "write cores:N, cores:auto, mem:SIZE or bandwidth:SIZE, separated by commas";
    if (comma == std::string_view::npos) return parsed;
    text.remove_prefix(comma + 1);
  }
  return parsed;
}

}  // namespace orchid::share
