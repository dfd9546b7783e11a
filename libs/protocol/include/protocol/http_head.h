// protocol/http_head.h: the head of an HTTP/1.1 message, read without trust; for those who pass
// messages on. What they mean is the business of both ends.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "foundation/result.h"

namespace orchid {

/// Points into the text that it was read from.
struct HttpHead {
  std::string_view start_line;
  std::vector<std::pair<std::string_view, std::string_view>> fields;
  std::size_t size = 0;              // with the empty line
  std::uint64_t content_length = 0;  // 0 when it is not stated
  bool states_length = false;
  /// The first field of that name, whose case does not matter; empty when there is none.
  [[nodiscard]] std::string_view find(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const;
};

constexpr std::size_t largest_http_head = 64 * 1024;

/// Nothing: the head is not complete yet. Errors: `bad_request`, `too_large`.
[[nodiscard]] Result<std::optional<HttpHead>> parse_http_head(std::string_view text);
/// Of a response. Errors: `bad_request`.
[[nodiscard]] Result<int> http_status_of(const HttpHead& head);

}  // namespace orchid
