#include "device_server.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <thread>
#include <utility>
#include <variant>

#include "foundation/log.h"

namespace orchid::executor {
namespace {

/// How long it looks without a pause after it has done something: for the worker's next command,
/// and for the end of what the GPU does: copies and small kernels are over by then. Whoever else
/// wants the core gets it meanwhile; to sleep and be woken twice takes a virtual machine some 0.3
/// ms.
constexpr std::chrono::microseconds looks_for_command{500};
constexpr std::chrono::milliseconds looks_for_end{1};
/// How often it asks for a kernel that runs longer: a hundredth of a sub-range.
constexpr timespec between_looks{.tv_sec = 0, .tv_nsec = 100'000};
constexpr timespec at_once{};
/// A worker whose kernel has failed is waited for so long, if it has not asked for the kernel yet.
/// Later it learns from the agent.
constexpr std::chrono::seconds asks_within{1};
constexpr timespec between_questions{.tv_sec = 0, .tv_nsec = 1'000'000};
/// The agent is told what was used after each call, since it may end the process then; but of so
/// many calls in this time: a worker ends as many as it likes.
constexpr std::chrono::milliseconds usage_interval{100};
constexpr unsigned most_usages = 16;
/// An agent that does not read for so long misses an answer, and cannot go on with this process.
constexpr std::chrono::seconds agent_patience{10};

timespec to_timespec(std::chrono::nanoseconds time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  return {.tv_sec = seconds.count(), .tv_nsec = (time - seconds).count()};
}

}  // namespace

int DeviceServer::run() {
  while (agent_is_there_) {
    if (!work_on_lane()) return 1;
    wait();
    if (!hear_agent()) break;
    if (usage_) tell_usage_in_turn();
  }
  return 0;
}

bool DeviceServer::work_on_lane() {
  if (lane_ == nullptr) return true;
  const auto stepped = lane_->step();
  if (!stepped) {
    log::warn("event=lane_ended lane={} reason=\"{}\"", lane_->number(), stepped.error().message);
    lane_->end(DeviceLaneEnd::worker, stepped.error().message);
  }
  const bool over = !lane_->broken() && lane_->finish();
  if (const auto& broken = lane_->broken()) {
    const DeviceFault fault =
        broken->error == DriverError::lost ? DeviceFault::lost : DeviceFault::crashed;
    log::error("event=device_ended fault={} message=\"{}\"", to_string(fault), broken->message);
    report(DeviceEnded{.fault = fault, .message = broken->message});
    tell_worker();
    return false;
  }
  if (over) lane_.reset();
  if (over || !stepped || *stepped) last_step_ = std::chrono::steady_clock::now();
  return true;
}

/// Until the agent has gone, or ends the process.
void DeviceServer::tell_worker() const {
  const auto end = std::chrono::steady_clock::now() + asks_within;
  pollfd agent{.fd = control_, .events = 0, .revents = 0};
  while (!lane_->tell_broken() && std::chrono::steady_clock::now() < end)
    if (::ppoll(&agent, 1, &between_questions, nullptr) > 0) return;
}

/// Until the agent, the lane or the GPU may have something.
void DeviceServer::wait() {
  std::array<pollfd, 2> watched{{{control_, POLLIN, 0}, {-1, POLLIN, 0}}};
  const auto now = std::chrono::steady_clock::now();
  const timespec until_usage =
      to_timespec(std::max<std::chrono::nanoseconds>(usage_due_ - now, {}));
  const timespec* const idle = usage_ ? &until_usage : nullptr;
  const bool recent = now - last_step_ < looks_for_command ||
                      (lane_ != nullptr && lane_->is_busy() && now - last_step_ < looks_for_end);
  if (lane_ == nullptr || recent) {
    std::this_thread::yield();
    // Without a lane there is nothing but the agent to wait for.
    ::ppoll(watched.data(), 1, lane_ == nullptr ? idle : &at_once, nullptr);
    return;
  }
  if (!lane_->prepare_to_sleep()) return;
  watched[1].fd = lane_->wake_descriptor();
  ::ppoll(watched.data(), watched.size(), lane_->is_busy() ? &between_looks : idle, nullptr);
  lane_->finish_sleep();
}

bool DeviceServer::hear_agent() {
  while (true) {
    auto packet = receive_packet(control_, false);
    if (!packet) {
      if (packet.error().code != ErrorCode::unreachable)
        log::error("event=bad_message from=agent reason=\"{}\"", packet.error().message);
      return false;
    }
    if (!*packet) return true;
    obey(std::move(**packet));
  }
}

void DeviceServer::obey(Packet packet) {
  const auto message = parse_device_message(packet.text);
  if (!message) {
    log::error("event=bad_message from=agent reason=\"{}\"", message.error().message);
    return;
  }
  last_step_ = std::chrono::steady_clock::now();
  const auto is_served = [this](std::uint64_t lane) {
    return lane_ != nullptr && lane_->number() == lane && !lane_->is_ending();
  };
  if (const auto* serve_lane = std::get_if<ServeLane>(&*message)) {
    serve(*serve_lane, std::move(packet.descriptors));
  } else if (const auto* load_kernels = std::get_if<LoadKernels>(&*message)) {
    load(*load_kernels, packet.descriptors);
  } else if (const auto* stop = std::get_if<StopCall>(&*message)) {
    if (is_served(stop->lane)) lane_->stop_call(stop->call);
  } else if (const auto* end_lane = std::get_if<EndLane>(&*message)) {
    end(*end_lane);
  } else {
    log::error("event=bad_message from=agent reason=\"not for a device process\"");
  }
}

void DeviceServer::serve(const ServeLane& order, std::vector<UniqueFd> descriptors) {
  if (lane_ != nullptr) {
    report(DeviceLaneEnded{.lane = order.lane,
                           .end = DeviceLaneEnd::system,
                           .message = "the device process still serves lane " +
                                      std::to_string(lane_->number()) + "; end that one first"});
    return;
  }
  auto opened = DeviceLane::open({driver_, launches_, copies_}, order, std::move(descriptors),
                                 [this](const DeviceMessage& message) { report(message); });
  if (!opened) {
    report(DeviceLaneEnded{
        .lane = order.lane, .end = DeviceLaneEnd::system, .message = opened.error().message});
    return;
  }
  lane_ = std::move(*opened);
}

void DeviceServer::load(const LoadKernels& order, const std::vector<UniqueFd>& descriptors) {
  KernelsRefused refused{
      .lane = order.lane, .module = order.module, .generation = order.generation, .message = {}};
  if (lane_ == nullptr || lane_->number() != order.lane)
    refused.message = "the device process does not serve this lane";
  else if (descriptors.size() != 1)
    refused.message = "expected one descriptor, of the PTX";
  else
    return lane_->load(order, descriptors.front());
  report(refused);
}

void DeviceServer::end(const EndLane& order) {
  if (lane_ != nullptr && lane_->number() == order.lane) return lane_->end(DeviceLaneEnd::asked);
  // It has ended by itself, or was never served.
  report(DeviceLaneEnded{.lane = order.lane, .message = {}});
}

void DeviceServer::report(const DeviceMessage& message) {
  if (const auto* usage = std::get_if<DeviceUsage>(&message)) return keep(*usage);
  if (usage_) tell_usage(agent_patience);
  if (can_send(agent_patience)) return send(message);
  log::error("event=agent_does_not_read limit_s={}", agent_patience.count());
  agent_is_there_ = false;
}

/// Sums are of this process, so the newest ones say all; of the peaks the highest counts.
void DeviceServer::keep(const DeviceUsage& usage) {
  const DeviceUsage before = usage_.value_or(usage);
  usage_ = usage;
  usage_->peak_memory = std::max(usage.peak_memory, before.peak_memory);
  usage_->pinned = std::max(usage.pinned, before.pinned);
  tell_usage_in_turn();
}

void DeviceServer::tell_usage_in_turn() {
  const auto now = std::chrono::steady_clock::now();
  if (now >= usage_due_) {
    usage_due_ = now + usage_interval;
    usages_left_ = most_usages;
  }
  if (usages_left_ == 0) return;
  --usages_left_;
  tell_usage({});
}

/// What the agent has no room for in time is kept.
void DeviceServer::tell_usage(std::chrono::milliseconds patience) {
  if (!can_send(patience)) return;
  send(*usage_);
  usage_.reset();
}

/// Whether the socket has room, or has lost its peer.
bool DeviceServer::can_send(std::chrono::milliseconds patience) const {
  const timespec longest = to_timespec(patience);
  pollfd agent{.fd = control_, .events = POLLOUT, .revents = 0};
  return ::ppoll(&agent, 1, &longest, nullptr) > 0;
}

/// To a socket with room: it fails when the agent has gone.
void DeviceServer::send(const DeviceMessage& message) {
  if (!send_packet(control_, encode(message))) agent_is_there_ = false;
}

}  // namespace orchid::executor
