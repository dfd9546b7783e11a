#include "data/copy_end.h"

#include <signal.h>

#include <chrono>
#include <string>
#include <utility>
#include <variant>

#include "foundation/log.h"

namespace orchid::executor {
namespace {

/// The process keeps to its time itself; this is for one that hangs.
constexpr std::chrono::seconds grace{2};

}  // namespace

CopyEnd::CopyEnd(Parts parts, Handlers handlers)
    : parts_(std::move(parts)), handlers_(std::move(handlers)), limit_(parts_.io) {}

CopyEnd::~CopyEnd() {
  if (pid_ <= 0) return;
  parts_.children.forget(pid_);
  ::kill(pid_, SIGKILL);
}

Result<void> CopyEnd::start(const CopyMessage& order, const UniqueFd& file,
                            std::chrono::milliseconds within) {
  auto started = start_child(parts_.program, {"--serve", "3"}, {.scheduling = parts_.scheduling});
  if (!started) return fail(std::move(started.error()));
  pid_ = started->process.release();  // reaped by the watch
  parts_.children.watch(pid_, [this](const ChildEvent& event) { happened(event); });
  channel_ = std::make_unique<PacketChannel>(
      parts_.io, std::move(started->control),
      PacketChannel::Handlers{[this](Packet& packet) { heard(packet); }, [] {}});
  limit_.begin(within + grace, [this] { give_up("it has taken longer than it may"); });
  if (auto sent = channel_->send(encode(order), {file.get()}); !sent)
    give_up("it does not take its order");
  return {};
}

void CopyEnd::stop() {
  if (!channel_ || !channel_->send(encode(CopyStop{}), {})) return give_up("it is not heard");
  limit_.begin(grace, [this] { give_up("it was to end, and did not"); });
}

void CopyEnd::give_up(std::string_view why) {
  if (!failed_)
    failed_ = CopyFailed{.code = ErrorCode::timed_out,
                         .message = "the copy was ended: " + std::string(why)};
  kill();
}

void CopyEnd::kill() {
  if (pid_ > 0) ::kill(pid_, SIGKILL);
}

void CopyEnd::heard(Packet& packet) {
  auto message = parse_copy_message(packet.text);
  if (message && !packet.descriptors.empty())
    message = fail(ErrorCode::bad_request, "a copy process sends no descriptors");
  if (!message) {
    log::error("event=bad_message from=copy reason=\"{}\"", message.error().message);
    return give_up("it speaks nonsense");
  }
  if (const auto* listening = std::get_if<CopyListening>(&*message))
    handlers_.listening(*listening);
  else if (auto* failed = std::get_if<CopyFailed>(&*message))
    failed_ = std::move(*failed);
  else if (std::holds_alternative<CopyDone>(*message))
    done_ = true;
}

void CopyEnd::happened(const ChildEvent& event) {
  if (event.kind == ChildEvent::Kind::stopped) return give_up("somebody has stopped it");
  limit_.end();
  pid_ = -1;
  if (channel_) channel_->read_rest();
  channel_.reset();
  if (done_)
    failed_.reset();
  else if (!failed_)
    failed_ = CopyFailed{.code = ErrorCode::unreachable,
                         .message = "the process that copied it has ended: " + describe(event)};
  const auto ended = handlers_.ended;
  const std::optional<CopyFailed> why = std::move(failed_);
  ended(why);
}

}  // namespace orchid::executor
