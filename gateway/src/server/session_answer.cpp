#include <fcntl.h>
#include <poll.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/socket_base.hpp>
#include <cerrno>
#include <utility>

#include "foundation/duplicate.h"
#include "http/answer_tag.h"
#include "server/session.h"

namespace orchid::gateway {
namespace {

/// For a reader that takes nothing when the gateway stops: it comes back to what comes then.
constexpr std::chrono::seconds last_event_time{1};

constexpr std::uint64_t most_of_a_file_at_once = 1 << 20;

}  // namespace

Response Session::refusal(const Failure& failure) const {
  const bool invocation = route_ != nullptr && route_->options.is_invocation;
  return to_response(invocation ? problem_of_invocation(failure) : problem_of(failure));
}

void Session::respond(std::uint64_t exchange, Response response) {
  if (exchange != exchange_) return;
  if (state_ == State::handling) return answer(std::move(response));
  if (state_ == State::reading_body && sink_) {
    keep_alive_ = false;  // the rest of the body is not waited for
    return answer(std::move(response));
  }
  if (state_ != State::opening) return;
  take_body(std::move(response));
  process();
}

void Session::watch(std::uint64_t exchange, ClientWatcher& watcher, std::uint64_t call) {
  // It may have gone while the handler asked others what it needs.
  if (state_ != State::handling || exchange != exchange_) return watcher.client_gone(call);
  if (peer_closed_) {
    close();
    return watcher.client_gone(call);
  }
  watcher_ = &watcher;
  watched_call_ = call;
}

void Session::answer(Response response) {
  watcher_ = nullptr;
  sink_.reset();
  response_ = std::move(response);
  // Pages poll; programs that do would be told in advance.
  if (is_by_cookie_ && request_.method == Method::get)
    tag_answer(response_, request_.header(Header::if_none_match));
  keep_alive_ = keep_alive_ && !response_.close && !host_.draining;
  render_head(response_,
              {.common = host_.common,
               .echoed = echoes_,
               .keep_alive = keep_alive_,
               .minor_version = request_.minor_version},
              head_);
  // The header says how long the body of a GET would be.
  if (request_.method == Method::head) {
    response_.text.clear();
    response_.payload = {};
    response_.file.reset();
    response_.events = nullptr;
  }
  host_.metrics.observe_response(response_.status);
  state_ = State::answering;
  written_ = 0;
  set_time(host_.limits.write_time);
  write_some();
}

void Session::write_some() {
  const std::uint64_t total = head_.size() + response_.size();
  std::uint64_t at_once = 0;
  while (written_ < total) {
    // A client that reads as fast as we write would have the thread for itself.
    if (at_once >= most_of_a_file_at_once) return write_later();
    boost::system::error_code error;
    const bool is_file = response_.file && written_ >= head_.size();
    const std::size_t sent = is_file ? write_file(error) : write_text(error);
    if (error == boost::asio::error::would_block)
      return is_file && response_.file->is_pipe ? write_when_pipe_has_more() : write_later();
    if (error) return close();
    written_ += sent;
    if (is_file) at_once += sent;
    host_.metrics.bytes_sent.add(sent);
    set_time(host_.limits.write_time);
  }
  answered();
}

/// The header, and with it a body that is in memory.
std::size_t Session::write_text(boost::system::error_code& error) {
  const auto* body = response_.payload.keeper
                         ? reinterpret_cast<const char*>(response_.payload.bytes.data())
                         : response_.text.data();
  const std::size_t size = response_.file ? 0 : response_.size();
  const std::size_t head_done = std::min<std::uint64_t>(written_, head_.size());
  const std::size_t body_done = written_ - head_done;
  const std::array<boost::asio::const_buffer, 2> parts{
      boost::asio::const_buffer(head_.data() + head_done, head_.size() - head_done),
      boost::asio::const_buffer(body + body_done, size - body_done)};
  return socket_.write_some(parts, error);
}

/// From the file's pages to the socket: nothing is mapped or copied here.
std::size_t Session::write_file(boost::system::error_code& error) {
  const FileBody& body = *response_.file;
  const std::uint64_t done = written_ - head_.size();
  auto from = static_cast<off_t>(body.begin + done);
  const std::uint64_t most = std::min(body.length - done, most_of_a_file_at_once);
  const ssize_t sent = body.is_pipe
                           ? ::splice(body.file.get(), nullptr, socket_.native_handle(), nullptr,
                                      most, SPLICE_F_NONBLOCK | SPLICE_F_MOVE)
                           : ::sendfile(socket_.native_handle(), body.file.get(), &from, most);
  if (sent > 0) return static_cast<std::size_t>(sent);
  // A file that ends early has broken its promise: the client sees that the body is cut off.
  const int why = sent == 0 ? EIO : errno;
  error.assign(why == EAGAIN ? EWOULDBLOCK : why, boost::system::system_category());
  return 0;
}

void Session::write_later() {
  socket_.async_wait(StreamSocket::wait_write,
                     [self = shared_from_this()](const boost::system::error_code& failed) {
                       if (self->state_ != State::answering) return;
                       if (failed) return self->close();
                       self->write_some();
                     });
}

/// It is empty, or the socket is full.
void Session::write_when_pipe_has_more() {
  pollfd there{.fd = response_.file->file.get(), .events = POLLIN, .revents = 0};
  if (::poll(&there, 1, 0) > 0) return write_later();
  if (!pipe_) {
    // Not in a child that is started meanwhile: it would keep a body alive that was given up.
    auto copy = duplicate(there.fd);
    if (!copy) return close();  // no descriptor is left: the client sees a body that is cut off
    pipe_.emplace(socket_.get_executor(), copy->release());
  }
  pipe_->async_wait(boost::asio::posix::stream_descriptor::wait_read,
                    [self = shared_from_this()](const boost::system::error_code& failed) {
                      if (failed || self->state_ != State::answering) return;
                      self->write_some();
                    });
}

void Session::answered() {
  pipe_.reset();
  if (response_.events && !last_piece_) return continue_stream();
  end_stream();
  response_ = {};  // an output in a worker's lane is given back here
  host_.body_bytes -= std::exchange(charged_bytes_, 0);
  if (!keep_alive_) return linger();
  restart_parser();
  state_ = State::reading_header;
  set_time(begin_ == end_ ? host_.limits.idle_time : host_.limits.header_time);
  // After an answer that came at once, the loop in process() goes on by itself.
  process();
}

void Session::restart_parser() {
  parser_.emplace(request_, host_.limits.header_bytes);
  route_ = nullptr;
  skipped_line_ = false;
  echoes_.clear();
}

void Session::linger() {
  // Closing while the client still sends would make its kernel throw our answer away.
  boost::system::error_code ignored;
  socket_.shutdown(StreamSocket::shutdown_send, ignored);
  state_ = State::lingering;
  begin_ = end_ = 0;
  set_time(host_.limits.linger_time);
  if (peer_closed_) return close();
  read_more();
}

void Session::peer_gone(const boost::system::error_code& error) {
  if (watcher_ != nullptr) {
    ClientWatcher& watcher = *std::exchange(watcher_, nullptr);
    const std::uint64_t call = watched_call_;
    close();
    watcher.client_gone(call);
    return;
  }
  // A client that has only closed its sending side still gets the answers to what it sent; but not
  // events for ever, since one that has gone looks the same.
  const bool owes =
      (state_ == State::opening || state_ == State::handling || state_ == State::answering) &&
      !response_.events;
  if (error == boost::asio::error::eof && owes) {
    peer_closed_ = true;
  } else {
    close();
  }
}

void Session::close() {
  if (state_ == State::closed) return;
  state_ = State::closed;
  end_stream();
  pipe_.reset();
  response_ = {};
  refusal_.reset();
  sink_.reset();
  host_.body_bytes -= std::exchange(charged_bytes_, 0);
  boost::system::error_code ignored;
  socket_.close(ignored);
  host_.metrics.connections_closed.add();
  host_.ended(id_);
}

/// Whoever lent the file has gone, or wants it back.
bool Session::is_file_taken_back() const {
  if (state_ != State::answering || !response_.file || !response_.file->loan) return false;
  pollfd loan{.fd = response_.file->loan.get(), .events = POLLIN, .revents = 0};
  return ::poll(&loan, 1, 0) > 0;
}

void Session::check_time() {
  if (is_file_taken_back()) return close();  // the client sees that the body is cut off
  if (state_ == State::streaming && !may_go_on()) return send_events();
  if (host_.now < due_) return;
  if (state_ == State::streaming) return keep_stream_alive();
  const bool waits_for_request =
      state_ == State::reading_header && begin_ == end_ && !parser_->got_some();
  if (waits_for_request || (state_ != State::reading_header && state_ != State::reading_body))
    return close();
  keep_alive_ = false;
  const bool waits_for_us = sink_ && sink_->is_full();
  answer(refusal(Failure{
      ErrorCode::timed_out,
      waits_for_us ? "the request's body was not taken in time: the host that its bytes go to is "
                     "slow; try again later"
                   : "the request did not arrive in time: send it faster"}));
}

void Session::drain() {
  if (state_ == State::reading_header && begin_ == end_ && !parser_->got_some()) close();
  if (state_ == State::streaming) send_events();
  if (streams_ && state_ == State::answering) set_time(last_event_time);
}

}  // namespace orchid::gateway
