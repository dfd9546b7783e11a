#include "data/data_opener.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "foundation/sockets.h"

namespace orchid::gateway {
namespace {

constexpr std::chrono::seconds answer_within{5};

/// One question and its answer. Kept alive by what it waits for.
class Opening : public std::enable_shared_from_this<Opening> {
 public:
  Opening(boost::asio::io_context& io, UniqueFd socket, const LaneOpenData& request,
          std::move_only_function<void(Result<OpenedData>)> done)
      : socket_(io, socket.release()),
        timer_(io),
        data_(request.data),
        reads_(request.access == DataAccess::read),
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
    end(answer_of(**packet));
  }
  [[nodiscard]] Result<UniqueFd> answer_of(Packet& packet) const {
    auto message = parse_lane_message(packet.text);
    if (!message) return fail(std::move(message.error()));
    if (auto* refused = std::get_if<LaneRefused>(&*message))
      return fail(refused->code, std::move(refused->message));
    const auto* data = std::get_if<LaneData>(&*message);
    if (data == nullptr || data->data != data_ || packet.descriptors.size() != 1 ||
        !is_data(packet.descriptors.front(), data->bytes))
      return fail(ErrorCode::bad_request, "the executor answered something else than data");
    return std::move(packet.descriptors.front());
  }
  /// A memory file of that size for good, to which nothing is written while it is read: anything
  /// else could keep the thread waiting.
  [[nodiscard]] bool is_data(const UniqueFd& file, ByteCount bytes) const {
    const int wanted = F_SEAL_SHRINK | F_SEAL_GROW | (reads_ ? F_SEAL_WRITE : 0);
    const int seals = ::fcntl(file.get(), F_GET_SEALS);
    struct stat status{};
    return seals >= 0 && (seals & wanted) == wanted && ::fstat(file.get(), &status) == 0 &&
           static_cast<std::uint64_t>(status.st_size) == bytes.value;
  }
  void end(Result<UniqueFd> file) {
    if (!done_) return;
    timer_.cancel();
    UniqueFd connection(socket_.release());
    auto done = std::exchange(done_, nullptr);
    if (!file) return done(fail(std::move(file.error())));
    done(OpenedData{.file = std::move(*file), .loan = reads_ ? std::move(connection) : UniqueFd{}});
  }

  boost::asio::posix::stream_descriptor socket_;
  boost::asio::steady_timer timer_;
  DataId data_;
  bool reads_;
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
