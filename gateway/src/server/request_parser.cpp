#include "server/request_parser.h"

#include <boost/beast/http/error.hpp>
#include <limits>
#include <utility>

namespace orchid::gateway {
namespace {

namespace http = boost::beast::http;

Method method_of(http::verb verb) {
  switch (verb) {
    case http::verb::get:
      return Method::get;
    case http::verb::head:
      return Method::head;
    case http::verb::put:
      return Method::put;
    case http::verb::post:
      return Method::post;
    case http::verb::patch:
      return Method::patch;
    case http::verb::delete_:
      return Method::delete_;
    case http::verb::options:
      return Method::options;
    default:
      return Method::other;
  }
}

std::string_view view(boost::beast::string_view text) { return {text.data(), text.size()}; }

}  // namespace

RequestParser::RequestParser(Request& request, std::uint32_t limit) : request_(request) {
  request_.headers.clear();
  request_.body.clear();
  header_limit(limit);
  // The limit depends on the route: it is checked by the session and in on_body_impl.
  body_limit(std::numeric_limits<std::uint64_t>::max());
}

void RequestParser::accept_body(std::uint64_t limit) {
  limit_ = limit;
  eager(true);
}

void RequestParser::stream_body(BodySink& sink, std::uint64_t limit) {
  sink_ = &sink;
  accept_body(limit);
}

void RequestParser::discard_body(std::uint64_t limit) {
  keep_ = false;
  accept_body(limit);
}

void RequestParser::on_request_impl(http::verb method, View, View target, int version,
                                    ErrorCodeB&) {
  request_.method = method_of(method);
  request_.target.assign(target.data(), target.size());
  request_.minor_version = static_cast<std::uint8_t>(version % 10);
}

void RequestParser::on_field_impl(http::field, View name, View value, ErrorCodeB& error) {
  // Trailers of a chunked body mean nothing to us.
  if (!in_header_ || request_.headers.add(view(name), view(value))) return;
  defect_ = RequestDefect::repeated_field;
  error = http::error::bad_field;
}

std::size_t RequestParser::on_body_impl(View body, ErrorCodeB& error) {
  received_ += body.size();
  if (received_ > limit_) {
    defect_ = RequestDefect::body_too_large;
    error = http::error::body_limit;
    return 0;
  }
  const auto* first = reinterpret_cast<const std::byte*>(body.data());
  if (sink_ != nullptr) {
    if (auto taken = sink_->take({first, body.size()}); !taken) {
      defect_ = RequestDefect::body_refused;
      refusal_ = std::move(taken.error());
      error = http::error::body_limit;
      return 0;
    }
  } else if (keep_) {
    request_.body.insert(request_.body.end(), first, first + body.size());
  }
  return body.size();
}

/// A chunk that would go over the limit is refused before its bytes come.
void RequestParser::on_chunk_header_impl(std::uint64_t size, View, ErrorCodeB& error) {
  if (size <= limit_ - received_) return;
  defect_ = RequestDefect::body_too_large;
  error = http::error::body_limit;
}

std::size_t RequestParser::on_chunk_body_impl(std::uint64_t, View body, ErrorCodeB& error) {
  return on_body_impl(body, error);
}

}  // namespace orchid::gateway
