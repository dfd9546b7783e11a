#include "http/response.h"

#include <array>
#include <charconv>

namespace orchid::gateway {
namespace {

void append_number(std::string& out, std::uint64_t number, int base = 10) {
  std::array<char, 20> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, base).ptr;
  out.append(digits.data(), end);
}

bool may_have_body(unsigned status) { return status >= 200 && status != 204 && status != 304; }

}  // namespace

Response& Response::with(std::string_view name, std::string_view value) {
  headers.append(name).append(": ");
  for (const char c : value)
    if (c != '\r' && c != '\n' && c != '\0') headers += c;
  headers.append("\r\n");
  return *this;
}

std::string_view reason_phrase(unsigned status) {
  switch (status) {
    case 100:
      return "Continue";
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 206:
      return "Partial Content";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 411:
      return "Length Required";
    case 412:
      return "Precondition Failed";
    case 413:
      return "Content Too Large";
    case 416:
      return "Range Not Satisfiable";
    case 417:
      return "Expectation Failed";
    case 421:
      return "Misdirected Request";
    case 422:
      return "Unprocessable Content";
    case 426:
      return "Upgrade Required";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    case 507:
      return "Insufficient Storage";
    default:
      return "Unknown";
  }
}

void render_head(const Response& response, const ResponseFrame& frame, std::string& out) {
  out.assign("HTTP/1.1 ");
  append_number(out, response.status);
  out.append(" ").append(reason_phrase(response.status)).append("\r\n").append(frame.common);
  if (response.events) {
    out.append("Content-Type: ").append(response.content_type).append("\r\n");
    if (frame.minor_version > 0) out.append("Transfer-Encoding: chunked\r\n");
  } else if (may_have_body(response.status)) {
    if (response.size() > 0)
      out.append("Content-Type: ").append(response.content_type).append("\r\n");
    out.append("Content-Length: ");
    append_number(out, response.size());
    out.append("\r\n");
  }
  if (!frame.keep_alive) {
    out.append("Connection: close\r\n");
  } else if (frame.minor_version == 0) {
    out.append("Connection: keep-alive\r\n");
  }
  out.append(frame.echoed).append(response.headers).append("\r\n");
}

void append_chunk(std::string& out, std::string_view content) {
  append_number(out, content.size(), 16);
  out.append("\r\n").append(content).append("\r\n");
}

}  // namespace orchid::gateway
