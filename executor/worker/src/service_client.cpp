#include "service_client.h"

#include <functional>
#include <string>
#include <utility>

#include "foundation/sockets.h"
#include "packet_wait.h"

namespace orchid::executor {
namespace {

using Clock = std::chrono::steady_clock;

/// What depots that came since have said: to nothing that is still asked.
void pass_over_what_is_there(int socket) {
  while (true) {
    const auto packet = receive_packet(socket, false);
    if (!packet || !*packet) return;
  }
}

bool ends_call(ServiceAsk ask) {
  return ask == ServiceAsk::publish_data || ask == ServiceAsk::discard_data;
}

std::chrono::seconds patience_for(ServiceAsk ask) {
  if (ends_call(ask)) return ServiceClient::patience_at_end;
  if (ask == ServiceAsk::make_module || ask == ServiceAsk::fetch_module)
    return ServiceClient::patience_for_compiler;
  return ServiceClient::patience;
}

}  // namespace

Result<ServiceClient::Answer> ServiceClient::ask(ServiceRequest request) {
  if (given_up_)
    return fail(ErrorCode::unreachable, "the depot has not answered before; try again");
  const bool at_end = ends_call(request.ask);
  const std::function<bool()> stopped =
      at_end ? std::function<bool()>([] { return false; }) : stopped_;
  if (stopped()) return fail(call_is_to_stop());
  pass_over_what_is_there(socket_);
  if (++last_ == 0) ++last_;
  request.sequence = last_;
  const std::string text = encode(request);
  const auto due = Clock::now() + patience_for(request.ask);
  if (auto sent = send_packet(socket_, text); !sent)
    return fail(std::move(sent.error()).while_doing("asking the depot"));
  while (true) {
    auto came = await_packet(socket_, due, stopped);
    if (!came || !*came) break;
    Packet& packet = **came;
    auto answer = parse_service_answer(packet.text);
    if (!answer) continue;
    if (answer->verdict == ServiceVerdict::again) {
      static_cast<void>(send_packet(socket_, text));
      continue;
    }
    if (answer->sequence != request.sequence) continue;  // to one that was given up
    if (answer->verdict == ServiceVerdict::refused)
      return fail(answer->code, std::move(answer->message));
    Answer given{.data = answer->data,
                 .bytes = answer->bytes,
                 .message = std::move(answer->message),
                 .file = {}};
    if (!packet.descriptors.empty()) given.file = std::move(packet.descriptors.front());
    return given;
  }
  given_up_ = true;
  if (stopped()) return fail(call_is_to_stop());
  return fail(ErrorCode::unreachable, "the depot does not answer; try again");
}

}  // namespace orchid::executor
