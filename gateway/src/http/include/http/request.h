// http/request.h: one HTTP request as handlers see it.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tenants/peer_identity.h"

namespace orchid::gateway {

enum class Method : std::uint8_t { get, head, put, post, patch, delete_, options, other };
[[nodiscard]] std::string_view to_string(Method method);

/// The header fields that the gateway looks at.
enum class Header : std::uint8_t {
  accept,
  authorization,
  content_type,
  cookie,
  expect,
  host,
  idempotency_key,
  if_match,
  if_none_match,
  if_range,
  last_event_id,
  orchid_at_most_once,
  orchid_cluster,
  orchid_copies,
  orchid_data,
  orchid_deadline_ms,
  orchid_device,
  orchid_durable,
  orchid_expires_in,
  orchid_host_kind,
  orchid_output,
  orchid_signature,
  origin,
  prefer,
  range,
  sec_fetch_site,
  traceparent,
  transfer_encoding,
  upgrade,
  x_request_id,
  other,
};
/// `other` for names that the gateway does not look at. Case does not matter.
[[nodiscard]] Header find_header(std::string_view name);
/// Whether several fields of this name make one list (RFC 9110 §5.3); the others may come once.
[[nodiscard]] bool is_list(Header header);

/// Name and value of each field. Reused from request to request, so that a keep-alive connection
/// allocates nothing for it.
class HeaderFields {
 public:
  struct Field {
    std::string_view name;
    std::string_view value;
  };
  void clear();
  /// False: a field that may come once came again.
  [[nodiscard]] bool add(std::string_view name, std::string_view value);
  /// The value, or nothing (an empty text) when it is not there. Valid until the next change.
  [[nodiscard]] std::string_view find(Header header) const;
  [[nodiscard]] bool has(Header header) const { return places_[index(header)] != 0; }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] Field at(std::size_t i) const;

 private:
  struct Entry {
    std::uint32_t name_begin, name_length, value_begin, value_length;
  };
  static std::size_t index(Header header) { return static_cast<std::size_t>(header); }
  std::string text_;
  std::vector<Entry> entries_;
  std::array<std::uint32_t, static_cast<std::size_t>(Header::other) + 1> places_{};  // 1-based
};

struct Request {
  Method method = Method::other;
  std::string target;  // as sent
  std::string path;    // decoded, without the query
  std::string query;   // behind '?', not decoded
  std::uint8_t minor_version = 1;
  HeaderFields headers;
  std::array<std::string_view, 2> parameters;  // what the route's {} matched
  PeerIdentity identity;                       // of authenticated routes
  std::vector<std::byte> body;
  std::uint64_t content_length = 0;  // of a route that streams, whose body is still to come

  [[nodiscard]] std::string_view header(Header header) const { return headers.find(header); }
};

/// Splits the target and decodes %XX in the path. Takes "/path?query", "http://host/path?query",
/// whose host nobody looks at, and "*" (RFC 9112 §3.2). False: another form, or badly encoded.
[[nodiscard]] bool split_target(std::string_view target, std::string& path, std::string& query);
/// Decodes %XX. False: a '%' without two hexadecimal digits, or an encoded zero byte.
[[nodiscard]] bool decode_percent(std::string_view text, std::string& out);

}  // namespace orchid::gateway
