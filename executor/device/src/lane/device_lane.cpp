#include "lane/device_lane.h"

#include <algorithm>
#include <utility>

#include "foundation/files.h"
#include "protocol/limits.h"

namespace orchid::executor {
namespace {

constexpr std::size_t lane_descriptors = 3;
constexpr std::uint64_t page_bytes = 4096;
/// Of a slab; both ends are ours, but the numbers are multiplied and added.
constexpr std::uint64_t most_slab_bytes = 64ULL << 30;

std::unexpected<Failure> bad_order(const char* what) {
  return fail(ErrorCode::bad_request, std::string("a lane cannot be served: ") + what);
}

}  // namespace

Result<std::unique_ptr<DeviceLane>> DeviceLane::open(const DeviceParts& parts,
                                                     const ServeLane& terms,
                                                     std::vector<UniqueFd> descriptors,
                                                     Report report) {
  const bool has_call = terms.call_request_bytes != 0 || terms.call_response_bytes != 0;
  if (descriptors.size() != lane_descriptors + (has_call ? 1 : 0))
    return bad_order("the number of descriptors");
  for (const std::uint64_t bytes : {terms.call_request_bytes, terms.call_response_bytes})
    if (bytes > most_slab_bytes || bytes % page_bytes != 0) return bad_order("the size of a slab");
  auto lane = transport::LocalLaneWorker::attach({.memory = std::move(descriptors[0]),
                                                  .wake_worker = std::move(descriptors[1]),
                                                  .wake_client = std::move(descriptors[2]),
                                                  .geometry = device_lane_geometry});
  if (!lane) return fail(std::move(lane.error()).while_doing("taking a device lane"));
  std::optional<transport::LaneMemory> call;
  if (has_call) {
    auto mapped = transport::LaneMemory::map(
        descriptors[lane_descriptors].get(),
        {ByteCount{terms.call_request_bytes}, ByteCount{terms.call_response_bytes}});
    if (!mapped) return fail(std::move(mapped.error()).while_doing("mapping the call's lane"));
    call.emplace(std::move(*mapped));
  }
  return std::unique_ptr<DeviceLane>(
      new DeviceLane(parts, terms, std::move(*lane), std::move(call), std::move(report)));
}

DeviceLane::DeviceLane(const DeviceParts& parts, const ServeLane& terms,
                       transport::LocalLaneWorker lane, std::optional<transport::LaneMemory> call,
                       Report report)
    : parts_(parts),
      number_(terms.lane),
      lane_(std::move(lane)),
      call_memory_{.memory = std::move(call), .input = {}, .output = {}},
      report_(std::move(report)),
      modules_(parts.driver),
      memory_(parts.driver, ByteCount{terms.memory_limit}) {
  if (!call_memory_.memory) return;
  call_memory_.input =
      std::make_unique<PinnedRanges>(parts.driver, call_memory_.memory->request_slab());
  call_memory_.output =
      std::make_unique<PinnedRanges>(parts.driver, call_memory_.memory->response_slab());
}

Result<bool> DeviceLane::step() {
  bool some = advance_launches();
  if (ending_ || broken_) return some;
  if (!command_) {
    const auto taken = take();
    if (!taken) return taken;
    some = some || *taken;
  }
  if (!command_ || !work()) return some;
  // What has been asked for begins at once: who hears the answer may want it stopped.
  if (!broken_) advance_launches();
  return true;
}

/// Whether anything has begun or ended. What breaks the context breaks the lane.
bool DeviceLane::advance_launches() {
  const auto advanced = parts_.launches.advance();
  if (!advanced) {
    break_down(advanced.error());
    return true;
  }
  if (*advanced) publish_progress();
  return *advanced;
}

/// The next command, if there is one.
Result<bool> DeviceLane::take() {
  auto request = lane_.receive();
  if (!request) return fail(std::move(request.error()));
  if (!*request) return false;
  CallSlabs slabs;
  if (call_memory_.memory)
    slabs = {.request_bytes = call_memory_.input->slab().size(),
             .response_bytes = call_memory_.output->slab().size()};
  auto checked = check_command(**request, slabs);
  if (!checked) return fail(std::move(checked.error()));
  if (checked->command.call < call_)
    return fail(ErrorCode::bad_request,
                "the worker wrote nonsense into its device lane (call number)");
  if (checked->command.call != call_) {
    call_ = checked->command.call;
    time_before_call_ = parts_.launches.figures().kernel_time;
  }
  command_.emplace(std::move(*checked));
  return true;
}

void DeviceLane::load(const LoadKernels& order, const UniqueFd& ptx) {
  KernelsRefused refused{
      .lane = number_, .module = order.module, .generation = order.generation, .message = {}};
  const auto mapped = MappedFile::map(ptx.get(), {.limit = limits::module_size});
  if (!mapped) {
    refused.message = "reading the PTX: " + mapped.error().message;
    return report_(refused);
  }
  if (!parts_.launches.is_idle() || ending_) {
    refused.message = "the GPU is at work for this lane";
    return report_(refused);
  }
  const auto start = std::chrono::steady_clock::now();
  const auto loaded =
      modules_.load({order.module, order.generation}, std::string(as_text(mapped->bytes())));
  if (!loaded) {
    if (ends_context(loaded.error())) return break_down(loaded.error());
    refused.message = loaded.error().message;
    return report_(refused);
  }
  const auto took = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - start);
  report_(KernelsLoaded{.lane = number_,
                        .module = order.module,
                        .generation = order.generation,
                        .load_us = static_cast<std::uint64_t>(took.count())});
}

void DeviceLane::stop_call(std::uint64_t call) {
  stopped_call_ = std::max(stopped_call_, call);
  if (call_ <= stopped_call_) parts_.launches.stop();
}

void DeviceLane::end(DeviceLaneEnd end, std::string message) {
  if (ending_) return;
  ending_ = DeviceLaneEnded{.lane = number_, .end = end, .message = std::move(message)};
  parts_.launches.stop();
  if (copy_) copy_->stop();
}

bool DeviceLane::finish() {
  if (!ending_ || broken_ || !parts_.launches.is_idle()) return false;
  if (copy_) {
    const auto done = copy_->advance();
    if (!done) break_down(done.error());
    if (!done || !*done) return false;
    copy_.reset();
  }
  static_cast<void>(parts_.launches.take_failure());
  if (auto freed = memory_.free_all(); !freed && ends_context(freed.error())) {
    break_down(freed.error());
    return false;
  }
  tell_usage();  // with what the call had registered
  unpin();
  report_(*ending_);
  return true;
}

bool DeviceLane::is_busy() const { return parts_.launches.is_running() || !takes_commands(); }

bool DeviceLane::prepare_to_sleep() { return !takes_commands() || lane_.prepare_to_sleep(); }

void DeviceLane::finish_sleep() {
  if (takes_commands()) lane_.finish_sleep();
}

void DeviceLane::publish_progress() {
  const auto progress = parts_.launches.progress();
  if (!progress) return;
  // The worker reads it as that of a call of this lane, whose request the launch is.
  lane_.progress().store(transport::pack_progress(progress->launch, progress->thousandths),
                         std::memory_order_relaxed);
}

std::uint64_t DeviceLane::pinned() const {
  std::uint64_t bytes = 0;
  for (const auto* ranges : {call_memory_.input.get(), call_memory_.output.get()})
    if (ranges != nullptr) bytes += ranges->pinned().value;
  return bytes;
}

/// Between calls whoever made the call's lane may give back the pages of its slabs. The driver
/// would keep on copying from and to those that it has registered, and nobody else sees them any
/// more.
void DeviceLane::unpin() {
  for (auto* ranges : {call_memory_.input.get(), call_memory_.output.get()})
    if (ranges != nullptr) ranges->unpin_all();
}

void DeviceLane::tell_usage() {
  const LaunchFigures& figures = parts_.launches.figures();
  report_(DeviceUsage{
      .lane = number_,
      .call = call_,
      .memory = memory_.used().value,
      .peak_memory = memory_.peak().value,
      .pinned = pinned(),
      .kernel_us = static_cast<std::uint64_t>(
          std::chrono::duration_cast<std::chrono::microseconds>(figures.kernel_time).count()),
      .launches = figures.launches,
      .sub_ranges = figures.sub_ranges,
      .long_sub_ranges = figures.long_sub_ranges});
}

}  // namespace orchid::executor
