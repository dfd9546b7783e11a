#include "http/request.h"

#include "http/request_options.h"

namespace orchid::gateway {
namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(Header::other)> header_names{
    "accept",
    "authorization",
    "content-type",
    "cookie",
    "expect",
    "host",
    "idempotency-key",
    "if-match",
    "if-none-match",
    "if-range",
    "last-event-id",
    "orchid-at-most-once",
    "orchid-cluster",
    "orchid-copies",
    "orchid-data",
    "orchid-deadline-ms",
    "orchid-device",
    "orchid-durable",
    "orchid-expires-in",
    "orchid-host-kind",
    "orchid-output",
    "orchid-signature",
    "origin",
    "prefer",
    "range",
    "sec-fetch-site",
    "traceparent",
    "transfer-encoding",
    "upgrade",
    "x-request-id"};

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// Takes scheme and host away from the absolute form. False: it has another scheme, no host, or
/// names a user, which only misleads (RFC 9110 §4.2.4).
bool take_origin(std::string_view& target) {
  constexpr std::string_view scheme = "http://";
  if (!equals_ignoring_case(target.substr(0, scheme.size()), scheme)) return false;
  target.remove_prefix(scheme.size());
  const std::string_view host = target.substr(0, target.find_first_of("/?"));
  target.remove_prefix(host.size());
  return !host.empty() && !host.contains('@');
}

}  // namespace

std::string_view to_string(Method method) {
  constexpr std::array<std::string_view, 8> names{"GET",   "HEAD",   "PUT",     "POST",
                                                  "PATCH", "DELETE", "OPTIONS", "other"};
  return names[static_cast<std::size_t>(method)];
}

Header find_header(std::string_view name) {
  for (std::size_t i = 0; i < header_names.size(); ++i)
    if (equals_ignoring_case(name, header_names[i])) return static_cast<Header>(i);
  return Header::other;
}

bool is_list(Header header) {
  switch (header) {
    case Header::accept:
    case Header::if_match:
    case Header::if_none_match:
    case Header::orchid_data:
    case Header::prefer:
    case Header::upgrade:
    case Header::other:
      return true;
    default:
      return false;
  }
}

void HeaderFields::clear() {
  text_.clear();
  entries_.clear();
  places_.fill(0);
}

bool HeaderFields::add(std::string_view name, std::string_view value) {
  const Header header = find_header(name);
  std::uint32_t& place = places_[index(header)];
  const auto begin = static_cast<std::uint32_t>(text_.size());
  if (header != Header::other && place != 0) {
    if (!is_list(header)) return false;
    Entry& first = entries_[place - 1];
    text_.append(text_, first.value_begin, first.value_length).append(", ").append(value);
    first.value_begin = begin;
    first.value_length = static_cast<std::uint32_t>(text_.size()) - begin;
    return true;
  }
  text_.append(name).append(value);
  const auto name_length = static_cast<std::uint32_t>(name.size());
  entries_.push_back(
      {begin, name_length, begin + name_length, static_cast<std::uint32_t>(value.size())});
  place = static_cast<std::uint32_t>(entries_.size());
  return true;
}

HeaderFields::Field HeaderFields::at(std::size_t i) const {
  const Entry& entry = entries_[i];
  const std::string_view text(text_);
  return {text.substr(entry.name_begin, entry.name_length),
          text.substr(entry.value_begin, entry.value_length)};
}

std::string_view HeaderFields::find(Header header) const {
  const std::uint32_t place = places_[index(header)];
  return place == 0 || header == Header::other ? std::string_view{} : at(place - 1).value;
}

bool decode_percent(std::string_view text, std::string& out) {
  out.clear();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return false;
    const int high = hex_value(text[i + 1]);
    const int low = hex_value(text[i + 2]);
    if (high < 0 || low < 0 || high + low == 0) return false;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return true;
}

bool split_target(std::string_view target, std::string& path, std::string& query) {
  query.clear();
  if (target == "*") {
    path = target;
    return true;
  }
  if (!target.starts_with('/') && !take_origin(target)) return false;
  const std::size_t mark = target.find('?');
  if (mark != std::string_view::npos) query = target.substr(mark + 1);
  const std::string_view encoded = target.substr(0, mark);
  return decode_percent(encoded.empty() ? "/" : encoded, path);
}

}  // namespace orchid::gateway
