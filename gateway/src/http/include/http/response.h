// http/response.h: one HTTP response as handlers make it, and its rendering.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "calls/call.h"
#include "http/body.h"

namespace orchid::gateway {

class EventSource;

namespace content_type {
constexpr std::string_view json = "application/json";
constexpr std::string_view problem = "application/problem+json";
constexpr std::string_view bytes = "application/octet-stream";
constexpr std::string_view events = "text/event-stream";
constexpr std::string_view text = "text/plain; charset=utf-8";
}  // namespace content_type

/// The body is `text`, or `payload` or `file` where there is one, or what `events` tells.
struct Response {
  unsigned status = 200;
  std::string_view content_type = content_type::json;  // a literal
  std::string headers;                                 // whole lines, each with its CRLF
  std::string text;
  Payload payload;
  std::shared_ptr<const FileBody> file;   // shared by copies on their way between threads
  std::shared_ptr<EventSource> events{};  // shared with what it waits for
  bool close = false;

  /// What could end the line early is left out of the value.
  Response& with(std::string_view name, std::string_view value);
  [[nodiscard]] std::uint64_t size() const {
    if (file) return file->length;
    return payload.keeper ? payload.bytes.size() : text.size();
  }
};

[[nodiscard]] inline Response json_response(unsigned status, std::string body) {
  Response response;
  response.status = status;
  response.text = std::move(body);
  return response;
}

[[nodiscard]] std::string_view reason_phrase(unsigned status);

/// What all responses of a connection have in common: "Server" and "Date" lines, that nobody is to
/// guess types, and what is echoed to this request.
struct ResponseFrame {
  std::string_view common;  // whole lines
  std::string_view echoed;  // whole lines
  bool keep_alive = true;
  std::uint8_t minor_version = 1;
};
/// Replaces `out` with status line and header, up to the empty line.
void render_head(const Response& response, const ResponseFrame& frame, std::string& out);
/// A piece of a body whose length was not known before (RFC 9112 §7.1); an empty one ends it.
void append_chunk(std::string& out, std::string_view content);

}  // namespace orchid::gateway
