#include "devices/device_process.h"

#include <signal.h>

#include <utility>
#include <variant>

#include "foundation/log.h"

namespace orchid::executor {

DeviceProcess::DeviceProcess(boost::asio::io_context& io, ChildWatch& children,
                             const Options& options, Handlers handlers)
    : io_(io), children_(children), options_(options), handlers_(std::move(handlers)), limit_(io) {}

DeviceProcess::~DeviceProcess() {
  if (pid_ <= 0) return;
  children_.forget(pid_);
  ::kill(pid_, SIGKILL);
}

Result<void> DeviceProcess::start(const std::string& gpu) {
  auto started =
      start_child(options_.program, {"--serve", "3"},
                  {.scheduling = options_.scheduling, .environment = options_.environment});
  if (!started) return fail(std::move(started.error()));
  pid_ = started->process.release();  // reaped by the watch
  children_.watch(pid_, [this](const ChildEvent& event) { happened(event); });
  channel_ = std::make_unique<PacketChannel>(
      io_, std::move(started->control),
      PacketChannel::Handlers{[this](Packet& packet) { from_device(packet); }, [] {}});
  limit_.begin(options_.start_limit, [this] {
    started_too_slowly_ = true;
    kill();
  });
  send(DeviceStart{.gpu = gpu, .data_limit = options_.data_limit.value});
  return {};
}

void DeviceProcess::send(const DeviceMessage& message, const std::vector<int>& descriptors) {
  // One that does not read any more hangs, or has ended, which is noticed.
  if (channel_ && !channel_->send(encode(message), descriptors)) kill();
}

void DeviceProcess::kill() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  if (std::exchange(killed_, true)) return;
  limit_.begin(options_.linger_after, [this] { handlers_.lingers(); });
}

void DeviceProcess::put_down() {
  put_down_ = true;
  kill();
}

void DeviceProcess::happened(const ChildEvent& event) {
  if (event.kind == ChildEvent::Kind::stopped) return kill();
  limit_.end();
  pid_ = -1;
  if (channel_) channel_->read_rest();
  channel_.reset();
  const auto ended = handlers_.ended;
  ended(event);
}

void DeviceProcess::from_device(Packet& packet) {
  auto message = parse_device_message(packet.text);
  if (message && !packet.descriptors.empty())
    message = fail(ErrorCode::bad_request, "a device process sends no descriptors");
  if (!message) {
    log::error("event=bad_message from=device reason=\"{}\"", message.error().message);
    return kill();
  }
  if (const auto* words = std::get_if<DeviceEnded>(&*message)) {
    last_words_ = *words;
    kill();  // who needs to know hears it from us: it need not wait for its worker to ask
  }
  if (std::holds_alternative<DeviceReady>(*message) && !killed_) limit_.end();
  if (pid_ > 0) handlers_.told(*message);
}

}  // namespace orchid::executor
