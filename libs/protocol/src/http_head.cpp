#include "protocol/http_head.h"

#include <algorithm>

#include "foundation/numbers.h"

namespace orchid {
namespace {

constexpr std::size_t most_fields = 256;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return lower(x) == lower(y); });
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

/// Up to the next CRLF, which is taken too. A bare CR or LF, or a zero, makes two readers see two
/// messages.
std::optional<std::string_view> take_line(std::string_view& rest) {
  const std::size_t end = rest.find("\r\n");
  const std::string_view line = rest.substr(0, end);
  if (end == std::string_view::npos ||
      line.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos)
    return std::nullopt;
  rest.remove_prefix(end + 2);
  return line;
}

std::unexpected<Failure> malformed(const char* what) {
  return fail(ErrorCode::bad_request, std::string("this is not HTTP/1.1: ") + what);
}

Result<void> take_length(HttpHead& head, std::string_view value) {
  const auto length = parse_number<std::uint64_t>(value);
  if (!length) return malformed("its Content-Length is not a number");
  if (head.states_length) return malformed("it has two lengths");
  head.content_length = *length;
  head.states_length = true;
  return {};
}

}  // namespace

std::string_view HttpHead::find(std::string_view name) const {
  const auto found =
      std::ranges::find_if(fields, [&](const auto& field) { return same_name(field.first, name); });
  return found == fields.end() ? std::string_view{} : found->second;
}

bool HttpHead::has(std::string_view name) const {
  return std::ranges::any_of(fields,
                             [&](const auto& field) { return same_name(field.first, name); });
}

Result<std::optional<HttpHead>> parse_http_head(std::string_view text) {
  const std::size_t end = text.substr(0, largest_http_head).find("\r\n\r\n");
  if (end == std::string_view::npos) {
    if (text.size() >= largest_http_head)
      return fail(ErrorCode::too_large, "the head of an HTTP message is larger than 64 KiB");
    return std::optional<HttpHead>{};
  }
  HttpHead head;
  head.size = end + 4;
  std::string_view rest = text.substr(0, end + 2);
  const auto start = take_line(rest);
  if (!start || start->empty()) return malformed("its first line");
  head.start_line = *start;
  while (!rest.empty()) {
    const auto line = take_line(rest);
    if (!line) return malformed("a line of its head");
    const std::size_t colon = line->find(':');
    if (colon == std::string_view::npos || colon == 0 ||
        line->substr(0, colon).find_first_of(" \t") != std::string_view::npos)
      return malformed("a field of its head");
    if (head.fields.size() == most_fields) return malformed("it has too many fields");
    head.fields.emplace_back(line->substr(0, colon), trimmed(line->substr(colon + 1)));
    if (!same_name(head.fields.back().first, "content-length")) continue;
    if (auto taken = take_length(head, head.fields.back().second); !taken)
      return fail(std::move(taken.error()));
  }
  return std::optional<HttpHead>(std::move(head));
}

Result<int> http_status_of(const HttpHead& head) {
  const std::string_view line = head.start_line;
  const bool shaped = line.size() >= 12 && line.starts_with("HTTP/1.") && line[8] == ' ' &&
                      (line.size() == 12 || line[12] == ' ');
  if (!shaped) return malformed("its first line");
  const auto status = parse_number<int>(line.substr(9, 3));
  if (!status || *status < 100) return malformed("its status");
  return *status;
}

}  // namespace orchid
