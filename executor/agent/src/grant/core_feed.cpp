#include "grant/core_feed.h"

#include <boost/asio/buffer.hpp>
#include <utility>

namespace orchid::executor {

CoreFeed::CoreFeed(boost::asio::io_context& io, UniqueFd source, Handlers handlers)
    : source_(io, source.release()), handlers_(std::move(handlers)) {
  read();
}

void CoreFeed::read() {
  source_.async_read_some(boost::asio::buffer(buffer_),
                          [this](const boost::system::error_code& error, std::size_t count) {
                            if (error == boost::asio::error::operation_aborted) return;
                            if (error)
                              return end({ErrorCode::lease_ended,
                                          "the program that says which cores are free has ended"});
                            waiting_.append(buffer_.data(), count);
                            if (take_lines()) read();
                          });
}

/// Of several lines that have come together only the last one counts.
bool CoreFeed::take_lines() {
  const std::size_t end_of_last = waiting_.rfind('\n');
  if (end_of_last == std::string::npos) {
    if (waiting_.size() <= longest_line) return true;
    end({ErrorCode::bad_request, "a line of the core feed is too long"});
    return false;
  }
  const std::size_t before =
      end_of_last == 0 ? std::string::npos : waiting_.rfind('\n', end_of_last - 1);
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  const auto cores = parse_core_list(std::string_view(waiting_).substr(begin, end_of_last - begin));
  waiting_.erase(0, end_of_last + 1);
  if (!cores) {
    end(Failure(cores.error()).while_doing("the core feed"));
    return false;
  }
  handlers_.offer(*cores);
  return true;
}

void CoreFeed::end(const Failure& why) {
  boost::system::error_code ignored;
  source_.close(ignored);
  handlers_.ended(why);
}

}  // namespace orchid::executor
