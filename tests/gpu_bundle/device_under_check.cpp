#include "device_under_check.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "device/driver_environment.h"
#include "foundation/files.h"
#include "foundation/sockets.h"

namespace orchid::gpu_check {
namespace {

using executor::DeviceAnswer;
using executor::DeviceCommand;
using executor::DeviceCommandKind;
using executor::DeviceHostArea;
using executor::DeviceStatus;
using Clock = std::chrono::steady_clock;

// As the executor has them (executor/agent, DeviceProcess::Options).
constexpr std::chrono::milliseconds start_limit{30'000};
constexpr std::chrono::milliseconds load_limit{60'000};
constexpr ByteCount data_limit = 1_GiB;
/// For an answer of the lane: the longest work that is asked for takes seconds.
constexpr std::chrono::milliseconds answer_limit{60'000};
/// For what is said without the card.
constexpr std::chrono::milliseconds message_limit{10'000};
constexpr int control_number = 3;
/// As the worker looks (executor/worker, GpuDevice).
constexpr std::chrono::milliseconds looks_for{1};
constexpr unsigned looks_between_clocks = 64;
constexpr int pause_ms = 1;

std::uint8_t kind_of(DeviceCommandKind kind) { return static_cast<std::uint8_t>(kind); }

Result<LaneAnswer> checked(Result<LaneAnswer> answer) {
  if (!answer || answer->status == DeviceStatus::ok) return answer;
  const auto code =
      answer->status == DeviceStatus::out_of_memory ? ErrorCode::too_large : ErrorCode::internal;
  return fail(code, std::string(as_text(answer->rest)));
}

Result<void> done(const Result<LaneAnswer>& answer) {
  if (!answer) return fail(answer.error());
  return {};
}

int rest_of(Clock::time_point end) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
  return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

}  // namespace

Result<std::unique_ptr<DeviceUnderCheck>> DeviceUnderCheck::start(const Bundle& bundle) {
  auto pair = make_packet_pair();
  if (!pair) return fail(std::move(pair.error()));
  const auto begin = Clock::now();
  auto child = processes::ChildProcess::start(
      {.program = bundle.device_program(),
       .arguments = {"--serve", std::to_string(control_number)},
       .environment = executor::driver_environment(),
       .descriptors = {{.from = pair->second.get(), .as = control_number}},
       .dies_with_us = true,
       .default_signals = true,
       .first_to_lose_memory = true});
  if (!child) return fail(std::move(child.error()));
  pair->second.reset();
  std::unique_ptr<DeviceUnderCheck> device(
      new DeviceUnderCheck(std::move(*child), std::move(pair->first)));
  if (auto told =
          device->tell(executor::DeviceStart{.gpu = bundle.gpu, .data_limit = data_limit.value});
      !told)
    return fail(std::move(told.error()));
  auto ready = device->expect<executor::DeviceReady>(start_limit);
  if (!ready) return fail(std::move(ready.error()));
  device->ready_ = std::move(*ready);
  device->start_time_ = Clock::now() - begin;
  return device;
}

Result<void> DeviceUnderCheck::tell(const executor::DeviceMessage& message,
                                    const std::vector<int>& descriptors) {
  return send_packet(control_.get(), encode(message), descriptors);
}

/// The next message; its last words are an error.
Result<executor::DeviceMessage> DeviceUnderCheck::hear(Clock::time_point end) {
  pollfd watched{.fd = control_.get(), .events = POLLIN, .revents = 0};
  if (::poll(&watched, 1, rest_of(end)) != 1)
    return fail(ErrorCode::timed_out, "orchid-device has not answered in time");
  const auto packet = receive_packet(control_.get(), false);
  if (!packet || !*packet)
    return fail(ErrorCode::unreachable, "orchid-device has ended without a word");
  auto message = executor::parse_device_message((*packet)->text);
  if (!message) return message;
  if (const auto* ended = std::get_if<executor::DeviceEnded>(&*message))
    return fail(ErrorCode::unreachable, ended->message);
  return message;
}

Failure DeviceUnderCheck::why_it_ended() {
  const auto end = Clock::now() + message_limit;
  while (true)
    if (const auto message = hear(end); !message) return message.error();
}

Result<void> DeviceUnderCheck::begin_lane(std::uint64_t slab_bytes) {
  const transport::LaneGeometry geometry{ByteCount{slab_bytes}, ByteCount{slab_bytes}};
  auto device = transport::make_lane(executor::device_lane_geometry);
  if (!device) return fail(std::move(device.error()));
  auto call = transport::make_lane(geometry);
  if (!call) return fail(std::move(call.error()));
  auto memory = transport::LaneMemory::map(call->memory.get(), geometry);
  if (!memory) return fail(std::move(memory.error()));
  const std::vector<int> descriptors{device->memory.get(), device->wake_worker.get(),
                                     device->wake_client.get(), call->memory.get()};
  if (auto told = tell(executor::ServeLane{.lane = ++lane_number_,
                                           .memory_limit = ready_.memory,
                                           .call_request_bytes = slab_bytes,
                                           .call_response_bytes = slab_bytes},
                       descriptors);
      !told)
    return told;
  auto lane = transport::LocalLaneClient::attach(std::move(*device));
  if (!lane) return fail(std::move(lane.error()));
  lane_.emplace(std::move(*lane));
  call_.emplace(std::move(*memory));
  call_lane_.emplace(std::move(*call));
  return {};
}

Result<std::chrono::nanoseconds> DeviceUnderCheck::load(std::uint32_t module,
                                                        const std::filesystem::path& ptx) {
  const auto text = read_file(ptx, 8_MiB);
  if (!text) return fail(text.error());
  const auto sealed = make_sealed_memory("ptx", *text);
  if (!sealed) return fail(sealed.error());
  if (auto told =
          tell(executor::LoadKernels{.lane = lane_number_, .module = module}, {sealed->get()});
      !told)
    return fail(std::move(told.error()));
  const auto loaded = expect<executor::KernelsLoaded>(load_limit);
  if (!loaded) return fail(loaded.error());
  return std::chrono::microseconds(loaded->load_us);
}

Result<void> DeviceUnderCheck::stop_call() {
  return tell(executor::StopCall{.lane = lane_number_, .call = call_number_});
}

Result<void> DeviceUnderCheck::end_lane() {
  if (auto told = tell(executor::EndLane{.lane = lane_number_}); !told) return told;
  const auto ended = expect<executor::DeviceLaneEnded>(message_limit);
  if (!ended) return fail(ended.error());
  lane_.reset();
  if (!ended->message.empty()) return fail(ErrorCode::internal, ended->message);
  return {};
}

Result<std::chrono::nanoseconds> DeviceUnderCheck::kill() {
  const auto begin = Clock::now();
  process_.send_signal(SIGKILL);
  if (!process_.wait(message_limit))
    return fail(ErrorCode::timed_out,
                "the kernel has not let go of orchid-device within 10 s of SIGKILL");
  return Clock::now() - begin;
}

Result<void> DeviceUnderCheck::send(DeviceCommand command, std::span<const std::byte> first,
                                    std::span<const std::byte> second) {
  command.call = call_number_;
  std::array<std::byte, transport::inline_bytes> small{};
  std::span<std::byte> room = small;
  const std::size_t size = sizeof(command) + first.size() + second.size();
  if (size > small.size()) {
    auto made = lane_->allocate(size);
    if (!made) return fail(std::move(made.error()));
    room = *made;
  }
  std::memcpy(room.data(), &command, sizeof(command));
  std::ranges::copy(first, room.begin() + sizeof(command));
  std::ranges::copy(second,
                    room.begin() + sizeof(command) + static_cast<std::ptrdiff_t>(first.size()));
  const auto sent = lane_->send({.input = room.first(size)});
  if (!sent) return fail(sent.error());
  if (command.kind == kind_of(DeviceCommandKind::launch)) last_launch_ = *sent;
  return {};
}

Result<LaneAnswer> DeviceUnderCheck::receive() {
  const auto end = Clock::now() + answer_limit;
  const auto asleep_from = Clock::now() + looks_for;
  std::array<pollfd, 2> watched{
      {{lane_->wake_descriptor(), POLLIN, 0}, {process_.descriptor(), POLLIN, 0}}};
  for (unsigned looks = 0;; ++looks) {
    const auto response = lane_->receive();
    if (!response) return fail(response.error());
    if (*response) {
      const std::span<const std::byte> payload = (*response)->payload;
      DeviceAnswer head;
      if (payload.size() < sizeof(head))
        return fail(ErrorCode::bad_request, "orchid-device wrote nonsense into its lane");
      std::memcpy(&head, payload.data(), sizeof(head));
      const auto rest = payload.subspan(sizeof(head));
      LaneAnswer answer{.status = static_cast<DeviceStatus>(head.status),
                        .value = head.value,
                        .rest = {rest.begin(), rest.end()}};
      lane_->release(**response);
      return answer;
    }
    if (looks % looks_between_clocks != 0) continue;
    std::this_thread::yield();
    const auto now = Clock::now();
    if (now < asleep_from) continue;
    if (now > end) return fail(ErrorCode::timed_out, "orchid-device has not answered within 60 s");
    if ((watched[1].revents & POLLIN) != 0) return fail(why_it_ended());
    if (!lane_->prepare_to_sleep()) continue;
    ::poll(watched.data(), watched.size(), pause_ms);
    lane_->finish_sleep();
  }
}

Result<LaneAnswer> DeviceUnderCheck::ask(const DeviceCommand& command,
                                         std::span<const std::byte> first,
                                         std::span<const std::byte> second) {
  if (auto sent = send(command, first, second); !sent) return fail(std::move(sent.error()));
  return receive();
}

Result<std::uint64_t> DeviceUnderCheck::allocate(std::uint64_t bytes) {
  const auto answer = checked(ask({.size = bytes, .kind = kind_of(DeviceCommandKind::alloc)}));
  if (!answer) return fail(answer.error());
  return answer->value;
}

Result<void> DeviceUnderCheck::free(std::uint64_t address) {
  return done(checked(ask({.address = address, .kind = kind_of(DeviceCommandKind::free)})));
}

Result<void> DeviceUnderCheck::write_input(std::uint64_t address, std::uint64_t bytes) {
  return done(checked(ask({.address = address,
                           .size = bytes,
                           .kind = kind_of(DeviceCommandKind::write),
                           .area = static_cast<std::uint8_t>(DeviceHostArea::call_input)})));
}

Result<void> DeviceUnderCheck::read_output(std::uint64_t address, std::uint64_t bytes) {
  return done(checked(ask({.address = address,
                           .size = bytes,
                           .kind = kind_of(DeviceCommandKind::read),
                           .area = static_cast<std::uint8_t>(DeviceHostArea::call_output)})));
}

Result<std::vector<std::byte>> DeviceUnderCheck::read(std::uint64_t address, std::uint64_t bytes) {
  auto answer =
      checked(ask({.address = address, .size = bytes, .kind = kind_of(DeviceCommandKind::read)}));
  if (!answer) return fail(std::move(answer.error()));
  return std::move(answer->rest);
}

Result<void> DeviceUnderCheck::launch(const KernelName& kernel, const Arguments& arguments,
                                      std::uint64_t items) {
  const std::string_view name = kernel.name;
  return done(checked(ask({.size = items,
                           .module = kernel.module,
                           .args_size = static_cast<std::uint32_t>(arguments.size()),
                           .group_size = kernel.group_size,
                           .name_length = static_cast<std::uint16_t>(name.size()),
                           .kind = kind_of(DeviceCommandKind::launch)},
                          as_bytes(name), arguments)));
}

Result<void> DeviceUnderCheck::wait() {
  while (true) {
    auto answer = ask({.kind = kind_of(DeviceCommandKind::wait)});
    if (answer && answer->status == DeviceStatus::not_yet) continue;
    return done(checked(std::move(answer)));
  }
}

/// A `wait` is answered `not_yet` when another command comes behind it, and the driver gets a
/// launch before that.
Result<void> DeviceUnderCheck::see_running() {
  for (int i = 0; i < 2; ++i)
    if (auto sent = send({.kind = kind_of(DeviceCommandKind::wait)}); !sent) return sent;
  const auto answer = receive();
  if (!answer) return fail(answer.error());
  if (answer->status != DeviceStatus::not_yet)
    return fail(ErrorCode::internal, "a kernel that was to run long has ended at once");
  return {};
}

Result<void> DeviceUnderCheck::see_progress() {
  const auto end = Clock::now() + answer_limit;
  while (!lane_->running_progress(last_launch_)) {
    if (Clock::now() > end)
      return fail(ErrorCode::timed_out, "no part of a launch has ended within 60 s");
    if (auto running = let_run(std::chrono::milliseconds(pause_ms)); !running) return running;
  }
  return {};
}

Result<void> DeviceUnderCheck::let_run(std::chrono::milliseconds time) {
  const auto end = Clock::now() + time;
  pollfd process{.fd = process_.descriptor(), .events = POLLIN, .revents = 0};
  while (Clock::now() < end)
    if (::poll(&process, 1, rest_of(end)) == 1) return fail(why_it_ended());
  return {};
}

Result<executor::DeviceUsage> DeviceUnderCheck::end_call() {
  const auto ended = checked(ask({.kind = kind_of(DeviceCommandKind::end_call)}));
  if (!ended) return fail(ended.error());
  ++call_number_;
  return expect<executor::DeviceUsage>(message_limit);
}

}  // namespace orchid::gpu_check
