#include "session.h"

#include "problem.h"

namespace orchid::sdk {

HttpResponse Session::request(const HttpRequest& request) {
  HttpResponse response = pool_.perform(request);
  if (response.status >= 400) throw error_from_response(response);
  return response;
}

HttpResponse Session::get(std::string target, std::chrono::milliseconds timeout) {
  return request({.target = std::move(target), .timeout = timeout});
}

std::string escape_path(std::string_view name) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string escaped;
  for (const char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-_.~@").find(c) != std::string_view::npos;
    if (plain) {
      escaped += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      escaped.append({'%', digits[byte >> 4], digits[byte & 15]});
    }
  }
  return escaped;
}

}  // namespace orchid::sdk
