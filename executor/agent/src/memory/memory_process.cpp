#include "memory/memory_process.h"

#include <signal.h>

#include <utility>
#include <variant>

#include "foundation/log.h"

namespace orchid::executor {

MemoryProcess::MemoryProcess(Parts parts, Handlers handlers)
    : parts_(std::move(parts)), handlers_(std::move(handlers)) {}

MemoryProcess::~MemoryProcess() {
  if (pid_ <= 0) return;
  parts_.children.forget(pid_);
  ::kill(pid_, SIGKILL);
}

Result<void> MemoryProcess::start(const MemoryServe& order, const UniqueFd& file) {
  return start(MemoryMessage(order), file.get(), SchedulingClass::idle);
}

Result<void> MemoryProcess::start(const MemoryReach& order, const UniqueFd& socket,
                                  SchedulingClass scheduling) {
  return start(MemoryMessage(order), socket.get(), scheduling);
}

Result<void> MemoryProcess::start(const MemoryMessage& order, int descriptor,
                                  SchedulingClass scheduling) {
  auto started = start_child(parts_.program, {"--serve", "3"}, {.scheduling = scheduling});
  if (!started) return fail(std::move(started.error()));
  pid_ = started->process.release();  // reaped by the watch
  parts_.children.watch(pid_, [this](const ChildEvent& event) { happened(event); });
  channel_ = std::make_unique<PacketChannel>(
      parts_.io, std::move(started->control),
      PacketChannel::Handlers{[this](Packet& packet) { heard(packet); }, [] {}});
  if (auto sent = channel_->send(encode(order), {descriptor}); !sent) kill();
  return {};
}

void MemoryProcess::tell(const MemoryFate& fate) {
  if (channel_ && !channel_->send(encode(fate), {})) kill();
}

void MemoryProcess::kill() {
  if (pid_ > 0) ::kill(pid_, SIGKILL);
}

void MemoryProcess::heard(const Packet& packet) {
  auto message = parse_memory_message(packet.text);
  if (message && !packet.descriptors.empty())
    message = fail(ErrorCode::bad_request, "a memory process sends no descriptors");
  if (!message) {
    log::error("event=bad_message from=memory reason=\"{}\"", message.error().message);
    return kill();
  }
  if (const auto* listening = std::get_if<MemoryListening>(&*message))
    handlers_.listening(listening->address);
  else if (std::holds_alternative<MemoryConnected>(*message))
    handlers_.connected();
  else if (std::holds_alternative<MemoryLost>(*message))
    handlers_.lost();
  else if (auto* failed = std::get_if<MemoryFailed>(&*message))
    failed_ = Failure{failed->code, std::move(failed->message)};
  else if (std::holds_alternative<MemoryLeft>(*message))
    left_ = true;
}

void MemoryProcess::happened(const ChildEvent& event) {
  // Its client would wait for as long as somebody likes.
  if (event.kind == ChildEvent::Kind::stopped) return kill();
  pid_ = -1;
  if (channel_) channel_->read_rest();
  channel_.reset();
  if (!left_ && !failed_)
    failed_ = Failure{ErrorCode::lease_ended,
                      "the process that served the memory has ended: " + describe(event)};
  const auto ended = handlers_.ended;
  const std::optional<Failure> why = std::move(failed_);
  ended(why);
}

}  // namespace orchid::executor
