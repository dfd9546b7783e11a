#include "data/data_opener.h"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "foundation/sockets.h"
#include "lane_client/opened_data.h"

namespace orchid::gateway {
namespace {

constexpr std::chrono::seconds answer_within{5};

/// One question and its answer. Kept alive by what it waits for.
class Opening : public std::enable_shared_from_this<Opening> {
 public:
  Opening(boost::asio::io_context& io, UniqueFd socket, LaneOpenData request,
          std::move_only_function<void(Result<OpenedData>)> done)
      : socket_(io, socket.release()),
        timer_(io),
        request_(std::move(request)),
        done_(std::move(done)) {}

  void start() {
    timer_.expires_after(answer_within);
    timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
      if (!error)
        self->end(fail(ErrorCode::unreachable, "the executor does not hand out data: try again"));
    });
    await();
  }

 private:
  void await() {
    socket_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                       [self = shared_from_this()](const boost::system::error_code& error) {
                         if (!error) self->hear();
                       });
  }
  void hear() {
    auto packet = receive_packet(socket_.native_handle(), /*wait=*/false);
    if (!packet) return end(fail(std::move(packet.error()).while_doing("opening data")));
    if (!*packet) return await();
    end(lane_client::take_opened_data(std::move(**packet), request_));
  }
  void end(Result<UniqueFd> file) {
    if (!done_) return;
    timer_.cancel();
    UniqueFd connection(socket_.release());
    auto done = std::exchange(done_, nullptr);
    if (!file) return done(fail(std::move(file.error())));
    const bool reads = request_.access == DataAccess::read;
    done(OpenedData{.file = std::move(*file), .loan = reads ? std::move(connection) : UniqueFd{}});
  }

  boost::asio::posix::stream_descriptor socket_;
  boost::asio::steady_timer timer_;
  LaneOpenData request_;
  std::move_only_function<void(Result<OpenedData>)> done_;
};

}  // namespace

void open_data(boost::asio::io_context& io, const std::filesystem::path& lane_socket,
               const LaneOpenData& request,
               std::move_only_function<void(Result<OpenedData>)> done) {
  auto socket = connect_packets_at_once(lane_socket);
  if (socket)
    if (auto sent = send_packet(socket->get(), encode(request)); !sent)
      socket = fail(std::move(sent.error()));
  if (!socket) {
    boost::asio::post(io, [done = std::move(done), why = std::move(socket.error())]() mutable {
      done(fail(ErrorCode::unreachable,
                "the executor that has the data does not answer: " + why.message + "; try again"));
    });
    return;
  }
  std::make_shared<Opening>(io, std::move(*socket), request, std::move(done))->start();
}

}  // namespace orchid::gateway
