// protocol/core_list.h: sets of small numbers (cores, GPUs) as people and batch systems write them:
// "0-3,8".
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/result.h"

namespace orchid {

/// Sorted, each number once.
using CoreList = std::vector<std::uint32_t>;

/// The largest number that a list may hold.
constexpr std::uint32_t highest_core = 65'535;

/// An empty text is the empty list; ranges may come in any order and overlap. Errors:
/// `bad_request`.
[[nodiscard]] Result<CoreList> parse_core_list(std::string_view text);
/// The shortest such text. `list` is sorted, each number once.
[[nodiscard]] std::string to_core_text(const CoreList& list);

/// What is in `all` and not in `taken`.
[[nodiscard]] CoreList without(const CoreList& all, const CoreList& taken);
/// What is in both of them.
[[nodiscard]] CoreList common(const CoreList& a, const CoreList& b);
/// What is in at least one of them.
[[nodiscard]] CoreList united(const CoreList& a, const CoreList& b);
/// The machine's threads behind some of `count` processors, as a batch system counts these: core by
/// core and socket by socket, threads or whole cores. `order`: all threads of the machine, so.
/// Nothing: the batch system counts something else, or the order is not known.
[[nodiscard]] std::optional<CoreList> threads_behind(const CoreList& processors,
                                                     std::uint32_t count,
                                                     std::span<const std::uint32_t> order);
/// 0 … count-1.
[[nodiscard]] CoreList first_numbers(std::uint32_t count);

}  // namespace orchid
