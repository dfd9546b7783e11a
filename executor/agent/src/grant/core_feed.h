// grant/core_feed.h: whoever started us says, again and again, which of our cores we may offer: a
// line for each change, with a core list ("0-3,8") or nothing in it.
#pragma once
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <string>

#include "foundation/result.h"
#include "foundation/unique_fd.h"
#include "protocol/core_list.h"

namespace orchid::executor {

/// Owned by the agent's thread, which runs `io`. May not be destroyed inside its handlers.
class CoreFeed {
 public:
  struct Handlers {
    std::function<void(const CoreList&)> offer;
    /// Once: nobody tells any more, or what was told made no sense.
    std::function<void(const Failure&)> ended;
  };
  /// `source`: a pipe's end to read from.
  CoreFeed(boost::asio::io_context& io, UniqueFd source, Handlers handlers);
  CoreFeed(const CoreFeed&) = delete;
  CoreFeed& operator=(const CoreFeed&) = delete;

 private:
  void read();
  /// False: it was no core list.
  [[nodiscard]] bool take_lines();
  void end(const Failure& why);

  static constexpr std::size_t longest_line = 64 * 1024;
  boost::asio::posix::stream_descriptor source_;
  Handlers handlers_;
  std::string waiting_;  // of a line that is not complete
  std::array<char, 4096> buffer_{};
};

}  // namespace orchid::executor
