#include "service_client.h"

#include <poll.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "foundation/sockets.h"

namespace orchid::executor {
namespace {

using Clock = std::chrono::steady_clock;

/// Nothing: the time is over, or it never comes.
std::optional<Packet> await_packet(int socket, Clock::time_point due) {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(due - Clock::now());
    if (left.count() <= 0) return std::nullopt;
    pollfd wait{.fd = socket, .events = POLLIN, .revents = 0};
    ::poll(&wait, 1, static_cast<int>(left.count()));  // a signal only wakes it
    auto packet = receive_packet(socket, false);
    if (!packet) return std::nullopt;
    if (*packet) return std::move(**packet);
  }
}

}  // namespace

Result<ServiceClient::Answer> ServiceClient::ask(ServiceRequest request) {
  if (++last_ == 0) ++last_;
  request.sequence = last_;
  const std::string text = encode(request);
  const auto due = Clock::now() + patience;
  if (auto sent = send_packet(socket_, text); !sent)
    return fail(std::move(sent.error()).while_doing("asking the depot"));
  while (auto packet = await_packet(socket_, due)) {
    auto answer = parse_service_answer(packet->text);
    if (!answer) continue;
    if (answer->verdict == ServiceVerdict::again) {
      static_cast<void>(send_packet(socket_, text));
      continue;
    }
    if (answer->sequence != request.sequence) continue;  // to one that was given up
    if (answer->verdict == ServiceVerdict::refused)
      return fail(answer->code, std::move(answer->message));
    Answer given{.data = answer->data, .bytes = answer->bytes, .file = {}};
    if (!packet->descriptors.empty()) given.file = std::move(packet->descriptors.front());
    return given;
  }
  return fail(ErrorCode::unreachable, "the depot does not answer; try again");
}

}  // namespace orchid::executor
