// data/far_stream.h: bytes on their way into a pipe, at whose other end a process moves them to
// another host.
#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "foundation/task.h"
#include "foundation/unique_fd.h"

namespace orchid::gateway {

/// Belongs to the HTTP thread of `io`. Kept alive by what it waits for. A pipe that nobody reads
/// any more takes nothing: who watches its process hears why.
class FarStream : public std::enable_shared_from_this<FarStream> {
 public:
  /// `pipe`: the end to write to, non-blocking.
  FarStream(boost::asio::io_context& io, UniqueFd pipe) : pipe_(io, pipe.release()) {}

  /// What the pipe does not take now is kept, and nothing more is taken meanwhile. Only when it is
  /// not full.
  void take(std::span<const std::byte> bytes);
  /// The same of bytes that stay where they are until all are in the pipe, or it is closed.
  void take_in_place(std::span<const std::byte> bytes);
  [[nodiscard]] bool is_full() const { return !pending_.empty() || is_broken_; }
  /// Once, when it is not full any more; not at once. Not at all if it is closed before.
  void when_not_full(Task then) { then_ = std::move(then); }
  /// Nothing more comes: the pipe is closed when it has taken all.
  void finish();
  /// At once. Nothing is called any more.
  void close();

 private:
  void pump();
  void await_room();

  boost::asio::posix::stream_descriptor pipe_;
  std::vector<std::byte> kept_;
  std::span<const std::byte> pending_;
  Task then_;
  bool is_finished_ = false;
  bool is_broken_ = false;
};

}  // namespace orchid::gateway
