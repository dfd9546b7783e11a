// server/request_parser.h: HTTP/1.1 requests from bytes: Beast's parser, with our own storage.
#pragma once
#include <boost/beast/http/basic_parser.hpp>
#include <cstdint>
#include <optional>

#include "http/body.h"
#include "http/request.h"

namespace orchid::gateway {

/// What is wrong with a message beyond what Beast finds. `none`: nothing.
enum class RequestDefect : std::uint8_t { none, repeated_field, body_too_large, body_refused };

/// Owned by a session's thread. Parses one request into `request`, which outlives it. Stops after
/// the header, so that it can be judged; the body is parsed once `accept_body`, `stream_body` or
/// `discard_body` was called.
class RequestParser final : public boost::beast::http::basic_parser<true> {
 public:
  RequestParser(Request& request, std::uint32_t header_limit);

  void accept_body(std::uint64_t limit);
  /// To `sink`, which stays until the body is whole or the parser is not used any more.
  void stream_body(BodySink& sink, std::uint64_t limit);
  void discard_body(std::uint64_t limit);
  [[nodiscard]] std::uint64_t body_bytes() const { return received_; }
  [[nodiscard]] RequestDefect defect() const { return defect_; }
  /// Why the sink wants no more of the body.
  [[nodiscard]] const Failure& refusal() const { return refusal_; }

 private:
  using ErrorCodeB = boost::beast::error_code;
  using View = boost::beast::string_view;
  void on_request_impl(boost::beast::http::verb method, View method_text, View target, int version,
                       ErrorCodeB& error) override;
  void on_response_impl(int, View, int, ErrorCodeB&) override {}
  void on_field_impl(boost::beast::http::field name, View name_text, View value,
                     ErrorCodeB& error) override;
  void on_header_impl(ErrorCodeB&) override { in_header_ = false; }
  void on_body_init_impl(const boost::optional<std::uint64_t>&, ErrorCodeB&) override {}
  std::size_t on_body_impl(View body, ErrorCodeB& error) override;
  void on_chunk_header_impl(std::uint64_t size, View extensions, ErrorCodeB& error) override;
  std::size_t on_chunk_body_impl(std::uint64_t remain, View body, ErrorCodeB& error) override;
  void on_finish_impl(ErrorCodeB&) override {}

  Request& request_;
  BodySink* sink_ = nullptr;  // null: into the request
  Failure refusal_{};
  std::uint64_t limit_ = 0;
  std::uint64_t received_ = 0;
  bool keep_ = true;
  bool in_header_ = true;
  RequestDefect defect_ = RequestDefect::none;
};

}  // namespace orchid::gateway
