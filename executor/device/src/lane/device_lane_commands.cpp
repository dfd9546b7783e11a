// Each command of a worker, until it is answered.
#include <cstring>
#include <utility>

#include "lane/device_lane.h"
#include "protocol/limits.h"

namespace orchid::executor {
namespace {

/// Longer than what the lane takes for a short call.
constexpr std::chrono::milliseconds not_short{1};

DeviceStatus status_of(DriverError error) {
  switch (error) {
    case DriverError::refused:
      return DeviceStatus::refused;
    case DriverError::out_of_memory:
      return DeviceStatus::out_of_memory;
    case DriverError::crashed:
      return DeviceStatus::crashed;
    case DriverError::lost:
      return DeviceStatus::lost;
  }
  return DeviceStatus::lost;
}

}  // namespace

/// Goes on with the command in hand; true: it is answered.
bool DeviceLane::work() {
  switch (command_->kind) {
    case DeviceCommandKind::alloc:
      do_alloc();
      break;
    case DeviceCommandKind::launch:
      do_launch();
      break;
    case DeviceCommandKind::wait:
      do_wait();
      break;
    case DeviceCommandKind::free:
      do_free();
      break;
    case DeviceCommandKind::write:
    case DeviceCommandKind::read:
      do_copy();
      break;
    case DeviceCommandKind::end_call:
      end_call();
      break;
  }
  return !command_;
}

void DeviceLane::do_alloc() {
  if (is_stopped()) return answer_stopped();
  const auto address = memory_.allocate(command_->command.size);
  if (!address) return answer(address.error());
  answer(DeviceStatus::ok, *address);
}

void DeviceLane::do_launch() {
  if (is_stopped()) return answer_stopped();
  const DeviceCommand& command = command_->command;
  if (command.size > most_kernel_items)
    return answer(DeviceStatus::refused, 0, "a launch has at most 2^48 items");
  if (parts_.launches.is_full())
    return answer(DeviceStatus::refused, 0,
                  std::to_string(most_waiting_launches) +
                      " launches wait for the GPU; call orchid_device_wait before more of them");
  const auto kernel =
      modules_.find({command.module, command.generation}, command_->kernel, command.group_size);
  if (!kernel) return answer(kernel.error());
  last_launch_ = command_->number;
  parts_.launches.add({.number = command_->number,
                       .kernel = *kernel,
                       .args = std::move(command_->args),
                       .items = command.size});
  answer(DeviceStatus::ok, last_launch_);
}

void DeviceLane::do_wait() {
  const std::uint64_t wanted =
      command_->command.offset == 0 ? last_launch_ : command_->command.offset;
  if (wanted > last_launch_)
    return answer(DeviceStatus::refused, 0, "there is no such launch to wait for");
  if (is_stopped()) {
    if (!parts_.launches.is_running()) answer_stopped();
  } else if (parts_.launches.has_ended(wanted)) {
    if (answer_failed_launch()) return;
    const auto time = parts_.launches.figures().kernel_time - time_before_call_;
    answer(DeviceStatus::ok, static_cast<std::uint64_t>(time.count()));
  } else if (lane_.another_waits()) {
    answer(DeviceStatus::not_yet, 0);
  }
}

void DeviceLane::do_free() {
  if (!parts_.launches.is_idle()) return;
  if (auto freed = memory_.free(command_->command.address); !freed) return answer(freed.error());
  answer(DeviceStatus::ok, 0);
}

void DeviceLane::do_copy() {
  if (is_stopped() && copy_) copy_->stop();
  if (!copy_) {
    if (is_stopped()) {
      if (!parts_.launches.is_running()) answer_stopped();
      return;
    }
    if (!parts_.launches.is_idle()) return;
    if (answer_failed_launch()) return;
    const auto job = copy_job();
    if (!job) return;
    copy_.emplace(parts_.driver, parts_.copies, *job);
  }
  const auto done = copy_->advance();
  if (!done) return answer(done.error());
  if (!*done) return;
  if (is_stopped()) return answer_stopped();
  if (command_->kind == DeviceCommandKind::read && command_->area == DeviceHostArea::payload)
    return finish_answer();
  answer(DeviceStatus::ok, 0);
}

/// What is to be copied from where; nothing: it has been answered why not.
std::optional<HostCopy::Job> DeviceLane::copy_job() {
  const DeviceCommand& command = command_->command;
  if (!memory_.has(command.address, command.size)) {
    answer(DeviceStatus::refused, 0,
           "these are not all bytes of one piece of device memory of this call");
    return std::nullopt;
  }
  HostCopy::Job job{.direction = command_->kind == DeviceCommandKind::write
                                     ? HostCopy::Direction::to_device
                                     : HostCopy::Direction::to_host,
                    .address = command.address};
  if (command_->area != DeviceHostArea::payload) {
    job.ranges = command_->area == DeviceHostArea::call_input ? call_memory_.input.get()
                                                              : call_memory_.output.get();
    job.offset = command.offset;
    job.host = job.ranges == nullptr ? std::span<std::byte>()
                                     : job.ranges->slab().subspan(command.offset, command.size);
    return job;
  }
  job.host = command_->payload;
  if (command_->kind == DeviceCommandKind::write) return job;
  std::byte* const room = lane_.output(sizeof(DeviceAnswer) + command.size);
  if (room == nullptr) {
    answer(DeviceStatus::refused, 0, "the device lane is full of answers");
    return std::nullopt;
  }
  const DeviceAnswer ok;
  std::memcpy(room, &ok, sizeof(ok));
  job.host = {room + sizeof(DeviceAnswer), command.size};
  return job;
}

void DeviceLane::end_call() {
  parts_.launches.stop();
  if (!parts_.launches.is_idle()) return;
  static_cast<void>(parts_.launches.take_failure());
  if (auto freed = memory_.free_all(); !freed) return answer(freed.error());
  tell_usage();  // with what the call had registered
  unpin();
  answer(DeviceStatus::ok, 0);
}

void DeviceLane::answer_stopped() { answer(DeviceStatus::stopped, 0, "the call has been stopped"); }

/// True: a launch before it had failed, and that is its answer.
bool DeviceLane::answer_failed_launch() {
  const auto failure = parts_.launches.take_failure();
  if (!failure) return false;
  answer(*failure);
  return true;
}

void DeviceLane::answer(const DriverFailure& failure) {
  if (ends_context(failure)) return break_down(failure);
  answer(status_of(failure.error), 0, failure.message);
}

void DeviceLane::answer(DeviceStatus status, std::uint64_t value, std::string_view message) {
  message = message.substr(0, limits::message_size.value);
  const DeviceAnswer head{.value = value, .status = static_cast<std::uint8_t>(status)};
  std::byte* room = lane_.output(sizeof(head) + message.size());
  if (room == nullptr) {
    message = {};
    room = lane_.output(sizeof(head));
  }
  if (room != nullptr) {
    std::memcpy(room, &head, sizeof(head));
    std::memcpy(room + sizeof(head), message.data(), message.size());
  }
  finish_answer();
}

void DeviceLane::finish_answer() {
  copy_.reset();
  command_.reset();
  // A local lane fails only without a request. The command behind it may take long, so the worker
  // is not left asleep until that one's answer.
  static_cast<void>(lane_.answer({.run_time = not_short}));
}

/// The process ends soon.
void DeviceLane::break_down(DriverFailure failure) {
  broken_ = std::move(failure);
  parts_.launches.stop();
  if (command_) {
    answer(status_of(broken_->error), 0, broken_->message);
    has_told_broken_ = true;
  }
  static_cast<void>(tell_broken());
}

bool DeviceLane::tell_broken() {
  for (auto request = lane_.receive(); request && *request; request = lane_.receive()) {
    answer(status_of(broken_->error), 0, broken_->message);
    has_told_broken_ = true;
  }
  return has_told_broken_;
}

}  // namespace orchid::executor
