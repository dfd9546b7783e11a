#include "data/far_stream.h"

#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <utility>

namespace orchid::gateway {

void FarStream::take(std::span<const std::byte> bytes) {
  if (is_broken_) return;
  const bool is_first = pending_.empty();
  if (is_first) {
    pending_ = bytes;
    pump();
    bytes = pending_;
  }
  if (bytes.empty()) return;
  // The pipe is full: what it was given before comes first.
  std::vector<std::byte> all;
  if (!is_first) all.assign(pending_.begin(), pending_.end());
  all.insert(all.end(), bytes.begin(), bytes.end());
  kept_ = std::move(all);
  pending_ = kept_;
}

void FarStream::take_in_place(std::span<const std::byte> bytes) {
  assert(pending_.empty() && "it says when it is full");
  pending_ = bytes;
  pump();
}

void FarStream::pump() {
  while (!pending_.empty() && !is_broken_) {
    const ssize_t count = ::write(pipe_.native_handle(), pending_.data(), pending_.size());
    if (count >= 0)
      pending_ = pending_.subspan(static_cast<std::size_t>(count));
    else if (errno == EAGAIN)
      return await_room();
    else if (errno != EINTR)
      is_broken_ = true;
  }
  if (is_broken_) pending_ = {};
  kept_.clear();
  if (is_finished_) return close();
  if (then_ && !is_broken_) std::exchange(then_, {})();
}

void FarStream::await_room() {
  pipe_.async_wait(boost::asio::posix::stream_descriptor::wait_write,
                   [self = shared_from_this()](const boost::system::error_code& error) {
                     if (!error && self->pipe_.is_open()) self->pump();
                   });
}

void FarStream::finish() {
  is_finished_ = true;
  if (pending_.empty()) close();
}

void FarStream::close() {
  boost::system::error_code ignored;
  pipe_.close(ignored);
  pending_ = {};
  then_ = {};
}

}  // namespace orchid::gateway
