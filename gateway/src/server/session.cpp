#include "server/session.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/beast/http/error.hpp>
#include <cstring>

#include "foundation/huge_pages.h"
#include "foundation/log.h"
#include "http/request_options.h"

namespace orchid::gateway {
namespace {

namespace http = boost::beast::http;

constexpr std::size_t first_buffer = 8 * 1024;
constexpr std::size_t large_buffer = 256 * 1024;
constexpr std::uint64_t large_body = 64 * 1024;

}  // namespace

Session::Session(SessionHost& host, std::uint64_t id, StreamSocket socket,
                 std::optional<uid_t> peer_uid)
    : host_(host), id_(id), socket_(std::move(socket)), peer_uid_(peer_uid), in_(first_buffer) {
  set_time(host_.limits.header_time);
  restart_parser();
}

void Session::start() { read_more(); }

void Session::read_more() {
  if (read_pending_ || state_ == State::closed) return;
  if (peer_closed_) {
    // Nothing more will come; what was asked before is still answered.
    if (state_ == State::reading_header || state_ == State::reading_body) close();
    return;
  }
  if (state_ == State::reading_body && sink_ && sink_->is_full()) return read_when_sink_has_room();
  if (begin_ > 0) {
    std::memmove(in_.data(), in_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (charged_bytes_ > 0 && in_.size() < large_buffer) in_.resize(large_buffer);
  if (end_ == in_.size()) {
    // While a request is handled, a full buffer makes a client that sends ahead wait.
    if (state_ != State::reading_header && state_ != State::reading_body) return;
    in_.resize(in_.size() * 2);
  }
  read_pending_ = true;
  socket_.async_read_some(
      boost::asio::buffer(in_.data() + end_, in_.size() - end_),
      [self = shared_from_this()](const boost::system::error_code& error, std::size_t bytes) {
        self->arrived(error, bytes);
      });
}

/// The client waits meanwhile, and not we for it.
void Session::read_when_sink_has_room() {
  set_time(host_.limits.write_time);
  sink_->when_not_full([self = weak_from_this()] {
    const auto session = self.lock();
    if (!session || session->state_ != State::reading_body) return;
    session->set_time(session->host_.limits.body_time);
    session->read_more();
  });
}

void Session::arrived(const boost::system::error_code& error, std::size_t bytes) {
  read_pending_ = false;
  if (state_ == State::closed) return;
  if (error) return peer_gone(error);
  host_.metrics.bytes_received.add(bytes);
  if (state_ == State::lingering) {
    begin_ = end_ = 0;
    return read_more();
  }
  if (state_ == State::reading_body) {
    arrived_bytes_ += bytes;
    // Not for every byte: who sends one now and then would hold a large body's memory for ever.
    if (arrived_bytes_ >= host_.limits.body_step) {
      arrived_bytes_ = 0;
      set_time(host_.limits.body_time);
    }
  }
  // The header's time begins with its first byte.
  if (state_ == State::reading_header && begin_ == end_ && !parser_->got_some())
    set_time(host_.limits.header_time);
  end_ += bytes;
  process();
}

void Session::process() {
  if (processing_) return;
  processing_ = true;
  while (step()) {
  }
  processing_ = false;
  // Also while a handler works: so a client that goes away is noticed.
  if (state_ != State::answering && state_ != State::closed) read_more();
}

bool Session::step() {
  if (begin_ == end_) return false;
  if (state_ == State::reading_header) return parse_header();
  if (state_ == State::reading_body) return parse_body();
  return false;
}

/// Some clients send an empty line behind a body; one is not looked at (RFC 9112 §2.2). False: it
/// may be one, and is not there as a whole.
bool Session::skip_empty_line() {
  if (parser_->got_some() || skipped_line_ || in_[begin_] != '\r') return true;
  if (begin_ + 1 == end_) return false;
  if (in_[begin_ + 1] != '\n') return true;
  skipped_line_ = true;
  begin_ += 2;
  return begin_ < end_;
}

bool Session::parse_header() {
  if (!skip_empty_line()) return false;
  boost::beast::error_code error;
  begin_ += parser_->put(boost::asio::const_buffer(in_.data() + begin_, end_ - begin_), error);
  if (error == http::error::need_more) return false;
  if (!error) {
    if (parser_->is_header_done()) judge_header();
    return true;
  }
  keep_alive_ = false;
  route_ = nullptr;
  Problem problem;
  if (error == http::error::header_limit) {
    problem = problem_of(Failure{
        ErrorCode::too_large,
        "the request's header is larger than " + to_string(ByteCount{host_.limits.header_bytes})});
    problem.status = 431;
  } else {
    const bool repeated = parser_->defect() == RequestDefect::repeated_field;
    problem = problem_of(Failure{ErrorCode::bad_request,
                                 repeated ? "a header field that may occur only once occurred twice"
                                          : "this is not HTTP/1.1: " + error.message()});
    if (error == http::error::bad_version) problem.status = 505;
  }
  answer(to_response(problem));
  return true;
}

void Session::judge_header() {
  keep_alive_ = parser_->keep_alive();
  route_ = nullptr;
  refusal_.reset();
  is_by_cookie_ = false;
  note_echoes();
  std::optional<Response> refused = refuse_message();
  if (refused) {
    keep_alive_ = false;
  } else {
    refused = find_route();
    if (!refused) refused = admit_body();
    if (!refused && route_->options.streams) return open_body();
  }
  if (!refused && route_->websocket &&
      equals_ignoring_case(request_.header(Header::upgrade), "websocket"))
    return hand_over_connection();
  take_body(std::move(refused));
}

void Session::note_echoes() {
  echoes_.clear();
  const auto echo = [this](Header header, std::string_view name) {
    const std::string_view value = request_.header(header);
    if (!value.empty() && value.size() <= 256)
      echoes_.append(name).append(": ").append(value).append("\r\n");
  };
  echo(Header::x_request_id, "X-Request-Id");
  echo(Header::traceparent, "traceparent");
}

std::optional<Response> Session::refuse_message() {
  const auto refuse = [](ErrorCode code, std::string why) {
    return to_response(problem_of(Failure{code, std::move(why)}));
  };
  if (request_.minor_version == 1 && !request_.headers.has(Header::host))
    return refuse(ErrorCode::bad_request, "an HTTP/1.1 request needs a Host field");
  // Anything else would make two readers of the same bytes see different requests.
  if (request_.headers.has(Header::transfer_encoding) &&
      !equals_ignoring_case(request_.header(Header::transfer_encoding), "chunked"))
    return refuse(ErrorCode::unsupported, "the only Transfer-Encoding known here is 'chunked'");
  if (request_.headers.has(Header::expect) &&
      !equals_ignoring_case(request_.header(Header::expect), "100-continue")) {
    Problem problem =
        problem_of(Failure{ErrorCode::bad_request, "the only Expect known here is '100-continue'"});
    problem.status = 417;
    return to_response(problem);
  }
  if (!split_target(request_.target, request_.path, request_.query))
    return refuse(ErrorCode::bad_request, "the request's target is not a path like /v1/functions");
  if (request_.path == "*" && request_.method != Method::options)
    return refuse(ErrorCode::bad_request, "only OPTIONS can be asked of '*'");
  return std::nullopt;
}

std::optional<Response> Session::admit_body() {
  const std::uint64_t limit = route_->options.body.value;
  const auto length = parser_->content_length();
  if (route_->options.streams) {
    if (length) return std::nullopt;
    Problem problem = problem_of(
        Failure{ErrorCode::bad_request,
                "the room for this body is made before it comes: say its size in Content-Length"});
    problem.status = 411;
    return to_response(problem);
  }
  if (length && *length > limit)
    return refusal(Failure{
        ErrorCode::too_large,
        limit == 0 ? "this request takes no body"
                   : "the body has " + std::to_string(*length) + " bytes, and the limit is " +
                         to_string(ByteCount{limit}) + " (" + std::to_string(limit) + " bytes)"});
  return charge_body(length.value_or(0));
}

/// The handler may answer or take the body at once, or later.
void Session::open_body() {
  request_.content_length = *parser_->content_length();
  state_ = State::opening;
  due_ = MonotonicTime::max();
  ++exchange_;
  route_->handler(request_, Reply(shared_from_this(), exchange_));
}

void Session::take_body(std::uint64_t exchange, std::unique_ptr<BodySink> sink) {
  if (state_ != State::opening || exchange != exchange_) return;
  sink_ = std::move(sink);
  // Only the buffer is ours, whatever the size of what goes through it.
  auto refused = request_.content_length > large_body ? charge_body(large_buffer) : std::nullopt;
  if (refused) sink_.reset();
  take_body(std::move(refused));
  process();
}

void Session::take_body(std::optional<Response> refused) {
  if (parser_->is_done()) {
    if (refused) return answer(std::move(*refused));
    return body_is_whole();
  }
  const auto length = parser_->content_length();
  const bool waits = request_.headers.has(Header::expect) && begin_ == end_;
  if (refused) {
    // A small body is read and dropped, so that the connection can go on; else it has to end.
    const bool small = length && *length <= host_.limits.discarded_body.value && !waits;
    if (!small || !keep_alive_) {
      keep_alive_ = false;
      return answer(std::move(*refused));
    }
    refusal_ = std::move(refused);
    parser_->discard_body(*length);
  } else if (sink_) {
    parser_->stream_body(*sink_, *length);
  } else {
    parser_->accept_body(route_->options.body.value);
    if (length) reserve_in_huge_pages(request_.body, *length);
  }
  state_ = State::reading_body;
  arrived_bytes_ = 0;
  set_time(host_.limits.body_time);
  if (!waits) return;
  constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";
  boost::system::error_code error;
  // A connection that cannot take 25 bytes now is not worth waiting for.
  const std::size_t sent =
      socket_.write_some(boost::asio::buffer(go_on.data(), go_on.size()), error);
  if (error || sent != go_on.size()) close();
}

bool Session::parse_body() {
  boost::beast::error_code error;
  const std::size_t taken =
      parser_->put(boost::asio::const_buffer(in_.data() + begin_, end_ - begin_), error);
  begin_ += taken;
  if (error && error != http::error::need_more) {
    keep_alive_ = false;
    answer(body_fault(error));
    return true;
  }
  // A chunked body does not say before how large it will be.
  if (auto refused = charge_body(request_.body.size())) {
    keep_alive_ = false;
    answer(std::move(*refused));
    return true;
  }
  if (parser_->is_done()) {
    body_is_whole();
    return true;
  }
  return taken > 0 && !error;
}

Response Session::body_fault(const boost::system::error_code& error) const {
  if (parser_->defect() == RequestDefect::body_refused) return refusal(parser_->refusal());
  if (parser_->defect() != RequestDefect::body_too_large)
    return refusal(
        Failure{ErrorCode::bad_request, "the body is not well formed: " + error.message()});
  const ByteCount most = route_->options.body;
  return refusal(Failure{ErrorCode::too_large, most.value == 0
                                                   ? "this request takes no body"
                                                   : "the body is larger than " + to_string(most)});
}

void Session::body_is_whole() {
  if (refusal_) return answer(std::move(*refusal_));
  if (!sink_) return dispatch();
  state_ = State::handling;
  due_ = MonotonicTime::max();
  host_.body_bytes -= std::exchange(charged_bytes_, 0);
  if (begin_ == end_ && !read_pending_) {
    in_ = std::vector<char>(first_buffer);
    begin_ = end_ = 0;
  }
  const auto sink = std::move(sink_);
  sink->finish();
}

std::optional<Response> Session::charge_body(std::uint64_t size) {
  if (size <= std::max(large_body, charged_bytes_)) return std::nullopt;
  const std::uint64_t more = size - charged_bytes_;
  if (host_.body_bytes + more > host_.body_memory.value)
    return refusal(Failure{ErrorCode::no_capacity,
                           "too many large requests are being received: try again later"});
  charged_bytes_ += more;
  host_.body_bytes += more;
  return std::nullopt;
}

void Session::dispatch() {
  state_ = State::handling;
  due_ = MonotonicTime::max();
  ++exchange_;
  route_->handler(request_, Reply(shared_from_this(), exchange_));
}

void Session::hand_over_connection() {
  if (begin_ != end_ || read_pending_ || !parser_->is_done()) {
    keep_alive_ = false;
    return answer(
        refusal(Failure{ErrorCode::bad_request, "nothing may follow a request before its answer"}));
  }
  boost::system::error_code error;
  UniqueFd socket(socket_.release(error));
  if (error) {
    log::warn("event=connection_not_handed_over reason=\"{}\"", error.message());
    return close();
  }
  state_ = State::closed;
  host_.metrics.observe_response(101);
  host_.metrics.connections_closed.add();
  route_->websocket(std::move(socket), request_);
  host_.ended(id_);
}

}  // namespace orchid::gateway
