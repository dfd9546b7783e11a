#include "data/data_access.h"

#include <poll.h>

#include <cerrno>
#include <chrono>
#include <utility>

#include "foundation/host_addresses.h"
#include "foundation/json_document.h"
#include "foundation/sockets.h"
#include "lane_client/opened_data.h"
#include "orchid/error.h"

namespace orchid::sdk {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds answer_within{5};

/// The executor's answer, or `unreachable`.
Result<Packet> await_packet(int socket) {
  const auto until = Clock::now() + answer_within;
  while (true) {
    auto packet = receive_packet(socket, /*wait=*/false);
    if (!packet) return fail(std::move(packet.error()));
    if (*packet) return std::move(**packet);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    if (left.count() <= 0)
      return fail(ErrorCode::unreachable, "the executor does not hand out data");
    pollfd wait{.fd = socket, .events = POLLIN, .revents = 0};
    if (::poll(&wait, 1, static_cast<int>(left.count())) < 0 && errno != EINTR)
      return fail_errno("waiting for the executor");
  }
}

}  // namespace

DataAccessGrant parse_data_access(std::string_view text) {
  const JsonDocument document(text);
  const JsonObject o = document.root();
  DataAccessGrant grant{.data = o.parsed("id", parse_data_id),
                        .label = o.text("label"),
                        .bytes = o.number<std::uint64_t>("bytes"),
                        .secret = o.text("secret"),
                        .lane_socket = o.text("lane_socket"),
                        .boot_id = o.text("boot_id")};
  if (const auto good = document.finish(); !good)
    throw Error(
        {.kind = ErrorKind::internal,
         .message = "the gateway's answer does not open a data object: " + good.error().message,
         .hint = "compare 'orchid --version' with the gateway's /version"});
  return grant;
}

Result<OpenedBytes> open_bytes(const DataAccessGrant& grant, DataAccess access) {
  if (grant.boot_id != own_boot_id())
    return fail(ErrorCode::unsupported, "the object is on another host");
  const LaneOpenData request{.data = grant.data, .secret = grant.secret, .access = access};
  auto socket = connect_packets_at_once(grant.lane_socket);
  if (!socket) return fail(std::move(socket.error()));
  if (auto sent = send_packet(socket->get(), encode(request)); !sent)
    return fail(std::move(sent.error()));
  auto answer = await_packet(socket->get());
  if (!answer) return fail(std::move(answer.error()));
  auto file = lane_client::take_opened_data(std::move(*answer), request);
  if (!file) return fail(std::move(file.error()));
  OpenedBytes opened{.file = std::move(*file), .loan = {}};
  if (access == DataAccess::read) opened.loan = std::move(*socket);
  return opened;
}

}  // namespace orchid::sdk
