#include "http/request_options.h"

#include <algorithm>
#include <charconv>

#include "protocol/limits.h"

namespace orchid::gateway {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::string_view take_item(std::string_view& list, char separator) {
  const std::size_t end = std::min(list.find(separator), list.size());
  const std::string_view item = trim(list.substr(0, end));
  list.remove_prefix(std::min(end + 1, list.size()));
  return item;
}

std::optional<std::uint64_t> to_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return number;
}

constexpr std::uint64_t longest_deadline_ms =
    std::chrono::duration_cast<milliseconds>(limits::longest_deadline).count();

}  // namespace

Preferences parse_prefer(std::string_view value) {
  Preferences preferences;
  while (!value.empty()) {
    std::string_view item = take_item(value, ',');
    const std::string_view preference = take_item(item, ';');
    if (preference == "respond-async") preferences.respond_async = true;
    if (!preference.starts_with("wait=")) continue;
    const auto wait = to_number(trim(preference.substr(5)));
    if (wait && *wait <= longest_deadline_ms / 1000) preferences.wait = seconds(*wait);
  }
  return preferences;
}

Result<milliseconds> parse_duration(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = to_number(text.substr(0, digits));
  const std::string_view unit = text.substr(digits);
  std::uint64_t factor = 0;
  if (unit.empty() || unit == "s") factor = 1000;
  if (unit == "ms") factor = 1;
  if (unit == "m") factor = 60'000;
  if (unit == "h") factor = 3'600'000;
  if (!number || factor == 0 || *number > longest_deadline_ms / factor)
    return fail(ErrorCode::bad_request,
                "'" + std::string(text.substr(0, 40)) +
                    "' is not a duration of at most 24h: write it like 30s, 500ms or 2m");
  return milliseconds(*number * factor);
}

Result<std::uint64_t> parse_number(std::string_view text, NumberRange range) {
  const auto number = to_number(text);
  if (number && *number >= range.least && *number <= range.most) return *number;
  return fail(ErrorCode::bad_request, std::string(range.what) + " must be a number from " +
                                          std::to_string(range.least) + " to " +
                                          std::to_string(range.most) + ", not '" +
                                          std::string(text.substr(0, 40)) + "'");
}

Result<Precondition> parse_precondition(const Request& request) {
  Precondition precondition;
  std::string_view tags = request.header(Header::if_match);
  while (!tags.empty()) {
    std::string_view tag = take_item(tags, ',');
    if (tag == "*") {
      precondition.if_match.emplace_back(tag);
      continue;
    }
    if (tag.size() < 2 || tag.front() != '"' || tag.back() != '"')
      return fail(ErrorCode::bad_request,
                  "If-Match must be * or the ETag of a version with its quotation marks");
    precondition.if_match.emplace_back(tag.substr(1, tag.size() - 2));
  }
  if (request.headers.has(Header::if_none_match)) {
    if (trim(request.header(Header::if_none_match)) != "*")
      return fail(ErrorCode::bad_request,
                  "If-None-Match can only be * here: the name must be free");
    precondition.if_none_match = true;
  }
  return precondition;
}

Result<std::optional<unsigned>> parse_concurrency(const Request& request) {
  const std::string text = query_parameter(request.query, "concurrency");
  if (text.empty()) return std::optional<unsigned>{};
  auto number = parse_number(text, {"concurrency", 0, ConcurrencyGate::most});
  if (!number) return fail(std::move(number.error()));
  return std::optional(static_cast<unsigned>(*number));
}

Result<InvocationOptions> parse_invocation_options(const Request& request,
                                                   const InvocationDefaults& defaults) {
  InvocationOptions options;
  const Preferences preferences = parse_prefer(request.header(Header::prefer));
  options.respond_async = preferences.respond_async;
  options.wait = preferences.wait ? milliseconds(*preferences.wait) : defaults.wait;
  options.deadline =
      options.respond_async ? defaults.async_deadline : std::max(defaults.deadline, options.wait);
  if (request.headers.has(Header::orchid_deadline_ms)) {
    auto deadline = parse_number(request.header(Header::orchid_deadline_ms),
                                 {"Orchid-Deadline-Ms", 1, longest_deadline_ms});
    if (!deadline) return fail(std::move(deadline.error()));
    options.deadline = milliseconds(*deadline);
  }
  const std::string_view once = request.header(Header::orchid_at_most_once);
  if (!once.empty() && once != "true" && once != "false")
    return fail(ErrorCode::bad_request, "Orchid-At-Most-Once must be true or false");
  options.at_most_once = once == "true";
  if (request.headers.has(Header::idempotency_key)) {
    const std::string_view key = request.header(Header::idempotency_key);
    if (key.empty() || key.size() > 255)
      return fail(ErrorCode::bad_request, "Idempotency-Key must have 1 to 255 characters");
    options.idempotency_key = std::string(key);
  }
  return options;
}

Result<void> check_signature(std::string_view expected, const std::optional<std::string>& actual) {
  if (expected.empty() || (actual && *actual == expected)) return {};
  if (!actual)
    return fail(ErrorCode::bad_request, "the caller expects the signature " +
                                            std::string(expected) +
                                            ", but the entry takes and gives plain bytes");
  return fail(ErrorCode::bad_request, "the caller expects the signature " + std::string(expected) +
                                          ", but the entry has " + *actual +
                                          ": call it with these types");
}

}  // namespace orchid::gateway
