#include "devices/gpu_device.h"

#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstring>
#include <ctime>
#include <utility>

#include "orchid/function.h"
#include "user_code/call_context.h"

namespace orchid::executor {
namespace {

/// A piece of a copy whose bytes lie in neither slab, and how many are on their way at a time: one
/// is copied to or from the lane while the GPU is at the other.
constexpr std::size_t piece_bytes = 4UL << 20;
constexpr std::size_t pieces_at_once = 3;
static_assert(piece_bytes <= most_payload_bytes.value);
/// Launches that stand in line before the next one waits for the oldest.
constexpr std::size_t longest_line = most_waiting_launches / 2;
/// How long it looks for an answer before it sleeps: as long as the device process looks for the
/// end of a kernel. The clock, and whoever else wants the core, come after so many looks each.
constexpr std::chrono::milliseconds looks_for{1};
constexpr unsigned looks_between_clocks = 64;
constexpr int pause_ms = 1;
constexpr timespec seat_pause{.tv_sec = 0, .tv_nsec = 200'000};
/// The agent ends a worker whose GPU is lost within milliseconds.
constexpr int patience_for_the_end_ms = 10'000;

std::optional<std::size_t> offset_in(std::span<const std::byte> slab,
                                     std::span<const std::byte> part) {
  if (slab.empty() || part.data() < slab.data() ||
      part.data() + part.size() > slab.data() + slab.size())
    return std::nullopt;
  return static_cast<std::size_t>(part.data() - slab.data());
}

std::uint64_t address_of(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory); }

}  // namespace

Result<DeviceEnd> GpuDevice::end_of(const Result<Answered>& answered) {
  if (!answered) return fail(answered.error());
  switch (answered->status) {
    case DeviceStatus::ok:
    case DeviceStatus::not_yet:
      return DeviceEnd::done;
    case DeviceStatus::stopped:
      return DeviceEnd::stopped;
    case DeviceStatus::out_of_memory:
      return fail(ErrorCode::too_large, answered->message);
    case DeviceStatus::refused:
    case DeviceStatus::crashed:
    case DeviceStatus::lost:
      break;
  }
  return fail(ErrorCode::bad_request, answered->message);
}

/// Before the first command of a call: tells the agent that it wants a seat, and waits for one.
/// Both sides write first and read then: see Gpu::unseat.
Result<DeviceEnd> GpuDevice::begin(orchid_call& call) {
  if (call_ == call.number) return DeviceEnd::done;
  parts_.page.device_call.store(call.number);
  std::uint64_t seat = parts_.page.device_seat.load();
  for (; seat == no_device_seat; seat = parts_.page.device_seat.load()) {
    if (orchid_should_stop(&call) != 0) return DeviceEnd::stopped;
    ::nanosleep(&seat_pause, nullptr);
  }
  if (seat != seat_) {
    parts_.lane.restart();
    open_.clear();
    seat_ = seat;
  }
  call_ = call.number;
  return DeviceEnd::done;
}

Result<std::uint64_t> GpuDevice::send(const DeviceCommand& command,
                                      std::span<const std::byte> first,
                                      std::span<const std::byte> second,
                                      std::span<std::byte> read_to) {
  std::array<std::byte, transport::inline_bytes> small{};
  std::span<std::byte> room = small;
  const std::size_t size = sizeof(command) + first.size() + second.size();
  if (size > small.size()) {
    auto made = parts_.lane.allocate(size);
    if (!made) return fail(std::move(made.error()).while_doing("speaking to the GPU's process"));
    room = *made;
  }
  std::memcpy(room.data(), &command, sizeof(command));
  if (!first.empty()) std::memcpy(room.data() + sizeof(command), first.data(), first.size());
  if (!second.empty())
    std::memcpy(room.data() + sizeof(command) + first.size(), second.data(), second.size());
  auto sent = parts_.lane.send({.input = room.first(size)});
  if (!sent) return fail(std::move(sent.error()).while_doing("speaking to the GPU's process"));
  open_.push_back({.request = *sent, .read_to = read_to});
  last_request_ = *sent;
  return sent;
}

/// The next answer, if it is there. Errors: the device process wrote nonsense.
Result<std::optional<GpuDevice::Answered>> GpuDevice::take_answer() {
  auto response = parts_.lane.receive();
  if (!response) return fail(std::move(response.error()).while_doing("asking the GPU's process"));
  std::optional<Answered> answered;
  if (!*response || open_.empty()) return answered;
  const std::span<const std::byte> payload = (*response)->payload;
  const Open open = open_.front();
  open_.pop_front();
  DeviceAnswer answer;
  if (payload.size() < sizeof(answer))
    return fail(ErrorCode::bad_request, "the GPU's process wrote nonsense into the lane");
  std::memcpy(&answer, payload.data(), sizeof(answer));
  answered = Answered{
      .status = static_cast<DeviceStatus>(answer.status), .value = answer.value, .message = {}};
  const auto rest = payload.subspan(sizeof(answer));
  if (answered->status != DeviceStatus::ok)
    answered->message.assign(reinterpret_cast<const char*>(rest.data()), rest.size());
  else if (!open.read_to.empty() && rest.size() == open.read_to.size())
    std::memcpy(open.read_to.data(), rest.data(), rest.size());
  else if (!open.read_to.empty())
    return fail(ErrorCode::bad_request, "the GPU's process answered with another number of bytes");
  parts_.lane.release(**response);
  return answered;
}

/// Until the answer to `request`; those before it are taken along. `call`: null when it is over,
/// and only the agent can end the wait. A call that has to stop leaves its answers to `end_call`.
Result<GpuDevice::Answered> GpuDevice::await_answer(orchid_call* call, std::uint64_t request) {
  unsigned looks = 0;
  auto asleep_from = std::chrono::steady_clock::now() + looks_for;
  while (true) {
    const bool last = !open_.empty() && open_.front().request == request;
    auto answered = take_answer();
    if (!answered) return fail(std::move(answered.error()));
    if (*answered) {
      asleep_from = std::chrono::steady_clock::now() + looks_for;
      const DeviceStatus status = (*answered)->status;
      if (status == DeviceStatus::crashed || status == DeviceStatus::lost) {
        // The agent has heard it, too: it ends this worker, and says why.
        ::poll(nullptr, 0, patience_for_the_end_ms);
        return **answered;
      }
      if (last) return **answered;
      continue;
    }
    if (call != nullptr && orchid_should_stop(call) != 0) {
      for (Open& open : open_) open.read_to = {};
      return Answered{.status = DeviceStatus::stopped, .value = 0, .message = {}};
    }
    if (++looks % looks_between_clocks != 0) continue;
    ::sched_yield();
    if (std::chrono::steady_clock::now() > asleep_from) sleep();
  }
}

/// A moment, or until the device process has written something.
void GpuDevice::sleep() {
  if (!parts_.lane.prepare_to_sleep()) return;
  pollfd woken{.fd = parts_.lane.wake_descriptor(), .events = POLLIN, .revents = 0};
  ::poll(&woken, 1, pause_ms);
  parts_.lane.finish_sleep();
}

Result<GpuDevice::Answered> GpuDevice::ask(orchid_call& call, DeviceCommand command,
                                           std::span<const std::byte> first,
                                           std::span<const std::byte> second) {
  const auto begun = begin(call);
  if (!begun) return fail(begun.error());
  if (*begun == DeviceEnd::stopped)
    return Answered{.status = DeviceStatus::stopped, .value = 0, .message = {}};
  command.call = call.number;
  const auto request = send(command, first, second, {});
  if (!request) return fail(request.error());
  return await_answer(&call, *request);
}

void* GpuDevice::alloc(orchid_call& call, std::size_t size) {
  const auto answered =
      ask(call, {.size = size, .kind = static_cast<std::uint8_t>(DeviceCommandKind::alloc)});
  if (!answered || answered->status != DeviceStatus::ok) return nullptr;
  return std::bit_cast<void*>(answered->value);
}

bool GpuDevice::free(orchid_call& call, void* memory) {
  const auto answered = ask(call, {.address = address_of(memory),
                                   .kind = static_cast<std::uint8_t>(DeviceCommandKind::free)});
  return answered && answered->status != DeviceStatus::refused;
}

Result<DeviceEnd> GpuDevice::write(orchid_call& call, void* device,
                                   std::span<const std::byte> host) {
  // Only read from: `copy` serves both directions.
  const std::span<std::byte> bytes(const_cast<std::byte*>(host.data()), host.size());
  return copy(call,
              {.address = address_of(device),
               .size = host.size(),
               .kind = static_cast<std::uint8_t>(DeviceCommandKind::write)},
              bytes);
}

Result<DeviceEnd> GpuDevice::read(orchid_call& call, std::span<std::byte> host,
                                  const void* device) {
  return copy(call,
              {.address = address_of(device),
               .size = host.size(),
               .kind = static_cast<std::uint8_t>(DeviceCommandKind::read)},
              host);
}

/// What lies in the calls' lane needs no copy in between.
Result<DeviceEnd> GpuDevice::copy(orchid_call& call, DeviceCommand command,
                                  std::span<std::byte> host) {
  const auto in_input = offset_in(parts_.call_input, host);
  const auto in_output = offset_in(parts_.call_output, host);
  if (!in_input && !in_output) return copy_in_pieces(call, command, host);
  command.offset = in_input ? *in_input : *in_output;
  command.area = static_cast<std::uint8_t>(in_input ? DeviceHostArea::call_input
                                                    : DeviceHostArea::call_output);
  return end_of(ask(call, command));
}

Result<DeviceEnd> GpuDevice::copy_in_pieces(orchid_call& call, DeviceCommand command,
                                            std::span<std::byte> host) {
  const auto begun = begin(call);
  if (!begun || *begun == DeviceEnd::stopped) return begun;
  const bool writes = command.kind == static_cast<std::uint8_t>(DeviceCommandKind::write);
  command.call = call.number;
  command.area = static_cast<std::uint8_t>(DeviceHostArea::payload);
  const std::uint64_t start = command.address;
  std::deque<std::uint64_t> requests;
  std::size_t sent = 0;
  while (sent < host.size() || !requests.empty()) {
    if (sent < host.size() && requests.size() < pieces_at_once) {
      const auto piece = host.subspan(sent, std::min(piece_bytes, host.size() - sent));
      command.address = start + sent;
      command.size = piece.size();
      const auto request = writes ? send(command, piece, {}, {}) : send(command, {}, {}, piece);
      if (!request) return fail(request.error());
      requests.push_back(*request);
      sent += piece.size();
      continue;
    }
    const auto end = end_of(await_answer(&call, requests.front()));
    requests.pop_front();
    if (end && *end == DeviceEnd::done) continue;
    // What is still on its way has no place to go to any more.
    for (Open& open : open_) open.read_to = {};
    return end;
  }
  return DeviceEnd::done;
}

/// So that the device process need not refuse one.
Result<DeviceEnd> GpuDevice::make_room_in_line(orchid_call& call) {
  while (launches_.size() >= longest_line) {
    const auto answered = ask(call, {.offset = launches_.front(),
                                     .kind = static_cast<std::uint8_t>(DeviceCommandKind::wait)});
    const auto end = end_of(answered);
    if (!end || *end == DeviceEnd::stopped) return end;
    if (answered->status != DeviceStatus::not_yet) launches_.pop_front();
  }
  return DeviceEnd::done;
}

Result<DeviceEnd> GpuDevice::launch(orchid_call& call, const KernelLaunch& launch) {
  const std::string_view name = launch.kernel.name;
  if (name.empty() || name.size() > longest_kernel_name)
    return fail(ErrorCode::bad_request, "the kernel has no name, or one that is too long");
  const auto room = make_room_in_line(call);
  if (!room || *room == DeviceEnd::stopped) return room;
  const auto end = end_of(ask(call,
                              {.size = launch.items,
                               .module = call.slot,
                               .generation = call.generation,
                               .args_size = static_cast<std::uint32_t>(launch.args.size()),
                               .group_size = launch.kernel.group_size,
                               .name_length = static_cast<std::uint16_t>(name.size()),
                               .kind = static_cast<std::uint8_t>(DeviceCommandKind::launch)},
                              std::as_bytes(std::span(name)), launch.args));
  if (end && *end == DeviceEnd::done) launches_.push_back(last_request_);
  return end;
}

Result<DeviceEnd> GpuDevice::wait(orchid_call& call) {
  if (call_ != call.number) return DeviceEnd::done;  // it has launched nothing
  while (true) {
    const auto answered = ask(call, {.kind = static_cast<std::uint8_t>(DeviceCommandKind::wait)});
    if (answered && answered->status == DeviceStatus::not_yet) continue;
    if (answered && answered->status == DeviceStatus::ok) launches_.clear();
    return end_of(answered);
  }
}

/// Behind its answer nothing of the call is left, nor does anything write to its slabs any more.
std::string_view GpuDevice::end_call() {
  const std::uint64_t call = std::exchange(call_, 0);
  launches_.clear();
  if (call == 0) {
    parts_.page.device_call.store(0);
    return {};
  }
  const auto request = send(
      {.call = call, .kind = static_cast<std::uint8_t>(DeviceCommandKind::end_call)}, {}, {}, {});
  if (!request) return "its lane to the GPU is full";
  if (const auto answered = await_answer(nullptr, *request);
      !answered || answered->status != DeviceStatus::ok)
    return "the GPU's process did not end the call";
  parts_.page.device_call.store(0);
  return {};
}

}  // namespace orchid::executor
