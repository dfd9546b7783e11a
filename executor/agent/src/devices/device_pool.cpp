#include "devices/device_pool.h"

#include <algorithm>
#include <utility>

namespace orchid::executor {

DevicePool::DevicePool(boost::asio::io_context& io, ChildWatch& children,
                       DeviceProcess::Options options, const Offer& offer,
                       std::function<void()> changed)
    : options_(std::move(options)) {
  std::map<std::string, unsigned> sharers;
  for (const auto& [index, uuid] : offer.uuids) ++sharers[uuid];
  for (const OfferedGpu& gpu : offer.gpus) {
    const auto named = offer.uuids.find(gpu.index);
    const GpuCard card = named == offer.uuids.end()
                             ? GpuCard{.name = std::to_string(gpu.index)}
                             : GpuCard{.name = named->second, .sharers = sharers[named->second]};
    gpus_.push_back(std::make_unique<Gpu>(io, children, options_, card, gpu, changed));
  }
}

void DevicePool::start() {
  for (const auto& gpu : gpus_) gpu->start();
}

void DevicePool::stop() {
  for (const auto& gpu : gpus_) gpu->stop();
}

Gpu* DevicePool::find(std::uint32_t index) const {
  const auto found = std::ranges::find_if(
      gpus_, [index](const auto& gpu) { return gpu->offered().index == index; });
  return found == gpus_.end() ? nullptr : found->get();
}

std::vector<OfferedGpu> DevicePool::offered() const {
  std::vector<OfferedGpu> all;
  for (const auto& gpu : gpus_) all.push_back(gpu->offered());
  return all;
}

CoreList DevicePool::usable() const {
  CoreList indices;
  for (const auto& gpu : gpus_)
    if (gpu->offered().fault.empty()) indices.push_back(gpu->offered().index);
  return indices;
}

void DevicePool::vacate(const LeaseId& lease, std::function<void()> done) {
  const auto left = std::make_shared<std::size_t>(gpus_.size() + 1);
  const auto one_less = [left, done = std::move(done)] {
    if (--*left == 0) done();
  };
  for (const auto& gpu : gpus_) gpu->vacate(lease, one_less);
  one_less();
}

void DevicePool::count(std::map<std::string, std::uint64_t>& counters) const {
  if (gpus_.empty()) return;
  Gpu::Counters sum;
  for (const auto& gpu : gpus_) {
    const Gpu::Counters one = gpu->counters();
    sum.starts += one.starts;
    sum.crashes += one.crashes;
    sum.losses += one.losses;
    sum.launches += one.launches;
    sum.kernel_us += one.kernel_us;
    sum.long_sub_ranges += one.long_sub_ranges;
    sum.peak_memory = std::max(sum.peak_memory, one.peak_memory);
    sum.peak_pinned = std::max(sum.peak_pinned, one.peak_pinned);
  }
  counters["device_starts"] = sum.starts;
  counters["gpu_crashes"] = sum.crashes;
  counters["gpus_lost"] = sum.losses;
  counters["gpu_launches"] = sum.launches;
  counters["gpu_kernel_milliseconds"] = sum.kernel_us / 1000;
  counters["gpu_long_sub_ranges"] = sum.long_sub_ranges;
  counters["gpu_memory_peak_bytes"] = sum.peak_memory;
  counters["gpu_pinned_peak_bytes"] = sum.peak_pinned;
}

}  // namespace orchid::executor
