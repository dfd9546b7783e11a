// server/session.h: one client connection: requests in, answers out, in order.
#pragma once
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "foundation/clock.h"
#include "foundation/units.h"
#include "http/body.h"
#include "http/cookie_judge.h"
#include "http/problem.h"
#include "http/reply.h"
#include "http/router.h"
#include "server/http_metrics.h"
#include "server/request_parser.h"
#include "tenants/token_book.h"

namespace orchid::gateway {

using StreamSocket = boost::asio::generic::stream_protocol::socket;

struct SessionLimits {
  std::uint32_t header_bytes = 16 * 1024;
  ByteCount discarded_body = 64_KiB;  // of a refused request: read, so that the connection lives on
  std::chrono::milliseconds header_time{10'000};  // for the whole header
  std::chrono::milliseconds body_time{10'000};    // for each `body_step`, and the rest
  std::uint64_t body_step = 64 * 1024;
  std::chrono::milliseconds idle_time{75'000};   // between requests
  std::chrono::milliseconds write_time{30'000};  // without progress
  std::chrono::milliseconds linger_time{2'000};
  std::chrono::milliseconds event_pause{15'000};  // of a stream; then it gets a comment
};

/// What all sessions of an HTTP thread share. Belongs to that thread.
struct SessionHost {
  const Router& router;
  const TokenBook& tokens;
  SessionLimits limits;
  std::function<void(std::uint64_t session)> ended;
  HttpMetrics& metrics;
  CookieJudge by_cookie{};            // empty: cookies say nothing
  ByteCount body_memory{1ULL << 30};  // of all large bodies together
  std::uint64_t body_bytes = 0;       // in use
  bool draining = false;
  MonotonicTime now{};   // of the last look at the clock: exact enough for time limits
  std::string common{};  // header lines of all responses
};

/// Belongs to its HTTP thread; kept alive by its own asynchronous operations and by the replies
/// that are due.
class Session final : public AnswerSink, public std::enable_shared_from_this<Session> {
 public:
  Session(SessionHost& host, std::uint64_t id, StreamSocket socket, std::optional<uid_t> peer_uid);
  /// Before `start`: all requests are this tenant's, without a token.
  void serve_only(const Tenant& tenant) { only_ = PeerIdentity{tenant, std::nullopt}; }
  void start();
  /// Closes, or answers 408, when its time is over. Several times a second.
  void check_time();
  /// Closes if it waits for a request, and ends a stream of events; else it closes after its
  /// answer.
  void drain();
  /// At the end of the process.
  void abandon() { close(); }

  void respond(std::uint64_t exchange, Response response) override;
  void watch(std::uint64_t exchange, ClientWatcher& watcher, std::uint64_t call) override;
  void take_body(std::uint64_t exchange, std::unique_ptr<BodySink> sink) override;

 private:
  enum class State : std::uint8_t {
    reading_header,
    opening,  // a handler has the header, and is to take or refuse the body
    reading_body,
    handling,   // a handler has the request
    answering,  // the answer, or a piece of it, is being sent
    streaming,  // all events that there are have been sent
    lingering,  // sent, and closed on our side; reads what the client still sends
    closed,
  };

  // Reading: session.cpp; who may ask for what: session_access.cpp.
  void read_more();
  void read_when_sink_has_room();
  void arrived(const boost::system::error_code& error, std::size_t bytes);
  void process();
  bool step();
  bool parse_header();
  [[nodiscard]] bool skip_empty_line();
  bool parse_body();
  void judge_header();
  [[nodiscard]] std::optional<Response> refuse_message();
  [[nodiscard]] std::optional<Response> find_route();
  [[nodiscard]] std::optional<Response> authenticate();
  [[nodiscard]] std::optional<Response> judge_query();
  [[nodiscard]] std::optional<Response> admit_body();
  void open_body();
  void take_body(std::optional<Response> refusal);
  void body_is_whole();
  [[nodiscard]] Response body_fault(const boost::system::error_code& error) const;
  /// Counts a body of that size against the memory of all bodies together; a small one is free.
  [[nodiscard]] std::optional<Response> charge_body(std::uint64_t size);
  void dispatch();
  void hand_over_connection();
  void note_echoes();

  // Answering: session_answer.cpp.
  [[nodiscard]] Response refusal(const Failure& failure) const;
  void answer(Response response);
  void write_some();
  [[nodiscard]] std::size_t write_text(boost::system::error_code& error);
  [[nodiscard]] std::size_t write_file(boost::system::error_code& error);
  void write_later();
  void write_when_pipe_has_more();
  [[nodiscard]] bool is_file_taken_back() const;
  void answered();
  void linger();
  void close();
  void peer_gone(const boost::system::error_code& error);
  void restart_parser();

  // Streams of events: session_events.cpp.
  void continue_stream();
  void open_stream();
  void send_events();
  /// False: its reader was let in by a session of the page that is over by now.
  [[nodiscard]] bool may_go_on() const;
  void keep_stream_alive();
  void send_piece(std::string_view text, bool last);
  void end_stream();

  void set_time(std::chrono::milliseconds time) { due_ = host_.now + time; }

  SessionHost& host_;
  std::uint64_t id_;
  StreamSocket socket_;
  std::optional<uid_t> peer_uid_;
  State state_ = State::reading_header;
  MonotonicTime due_;

  std::vector<char> in_;
  std::size_t begin_ = 0;  // of what is not parsed yet, in in_
  std::size_t end_ = 0;
  bool read_pending_ = false;
  bool peer_closed_ = false;  // its sending side
  bool processing_ = false;
  bool skipped_line_ = false;  // an empty one before this request

  std::optional<RequestParser> parser_;
  Request request_;
  const Route* route_ = nullptr;
  std::unique_ptr<BodySink> sink_;   // of the body that is being read
  std::optional<Response> refusal_;  // sent once the discarded body has been read
  std::uint64_t charged_bytes_ = 0;  // of host_.body_bytes
  std::uint64_t arrived_bytes_ = 0;  // of the body, since its time was set
  std::uint64_t exchange_ = 0;       // counts the requests
  ClientWatcher* watcher_ = nullptr;
  std::uint64_t watched_call_ = 0;

  Response response_;
  std::optional<boost::asio::posix::stream_descriptor> pipe_;  // of its body, while it is awaited
  std::string head_;
  std::string echoes_;
  std::uint64_t written_ = 0;
  bool keep_alive_ = true;
  bool streams_ = false;     // events; until the last of them has been sent
  bool last_piece_ = false;  // is being sent

  bool is_by_cookie_ = false;         // this request's identity
  std::optional<PeerIdentity> only_;  // who is there, if that was known from the beginning
  std::string known_authorization_;   // the header that `known_identity_` came from
  std::optional<PeerIdentity> known_identity_;
};

}  // namespace orchid::gateway
