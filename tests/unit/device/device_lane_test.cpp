// A lane in this process, whose driver is one that writes down what is asked of it.
#include "lane/device_lane.h"

#include <doctest/doctest.h>

#include <unistd.h>

#include <bit>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "device_under_test.h"

namespace orchid::executor {
namespace {

using namespace std::chrono_literals;
using namespace test;

/// Its device memory is the host's, and all is done at once.
class WritingDriver final : public Driver {
 public:
  std::map<const std::byte*, std::size_t> pinned;  // bytes by address

  const DeviceDescription& device() const override { return description_; }
  DriverResult<ModuleHandle> load(const std::string&) override { return ModuleHandle{}; }
  void unload(ModuleHandle) override {}
  DriverResult<DriverFunction> find(ModuleHandle, const std::string&) override {
    return driver_failed(DriverError::refused, "it has no kernels");
  }
  DriverResult<void> launch(const SubRangeLaunch&) override { return {}; }
  DriverResult<std::uint64_t> allocate(std::uint64_t size) override {
    return std::bit_cast<std::uint64_t>(memory_.emplace_back(size).data());
  }
  DriverResult<void> free(std::uint64_t) override { return {}; }
  DriverResult<void> copy_to_device(std::uint64_t address,
                                    std::span<const std::byte> host) override {
    std::memcpy(std::bit_cast<std::byte*>(address), host.data(), host.size());
    return {};
  }
  DriverResult<void> copy_to_host(std::span<std::byte> host, std::uint64_t address) override {
    std::memcpy(host.data(), std::bit_cast<const std::byte*>(address), host.size());
    return {};
  }
  DriverResult<void> pin(std::span<std::byte> host) override {
    CHECK(pinned.emplace(host.data(), host.size()).second);
    return {};
  }
  void unpin(std::span<std::byte> host) override { CHECK(pinned.erase(host.data()) == 1); }
  DriverResult<MarkHandle> make_mark() override { return MarkHandle{}; }
  DriverResult<void> place(MarkHandle) override { return {}; }
  DriverResult<bool> is_passed(MarkHandle) override { return true; }
  DriverResult<std::chrono::nanoseconds> time_between(MarkHandle, MarkHandle) override {
    return 0ns;
  }

 private:
  DeviceDescription description_;
  std::deque<std::vector<std::byte>> memory_;
};

UniqueFd same(const UniqueFd& descriptor) { return UniqueFd(::dup(descriptor.get())); }

}  // namespace

TEST_CASE("nothing of the call's slabs is registered when it has been told that it is over") {
  constexpr std::uint64_t slab = 4ULL << 20;
  constexpr std::uint64_t size = 1ULL << 20;
  WritingDriver driver;
  LaunchQueue launches(driver);
  auto copies = CopyResources::make(driver);
  REQUIRE(copies.has_value());
  const auto before = driver.pinned;
  auto ends = transport::make_lane(device_lane_geometry);
  const transport::LaneGeometry geometry{ByteCount{slab}, ByteCount{slab}};
  auto call_lane = transport::make_lane(geometry);
  REQUIRE(ends.has_value());
  REQUIRE(call_lane.has_value());
  auto call_memory = transport::LaneMemory::map(call_lane->memory.get(), geometry);
  REQUIRE(call_memory.has_value());
  std::vector<UniqueFd> descriptors;
  for (const UniqueFd* end :
       {&ends->memory, &ends->wake_worker, &ends->wake_client, &call_lane->memory})
    descriptors.push_back(same(*end));
  std::vector<DeviceUsage> usages;
  auto lane = DeviceLane::open(
      {.driver = driver, .launches = launches, .copies = *copies},
      {.lane = 1, .memory_limit = slab, .call_request_bytes = slab, .call_response_bytes = slab},
      std::move(descriptors), [&](const DeviceMessage& message) {
        if (const auto* usage = std::get_if<DeviceUsage>(&message)) usages.push_back(*usage);
      });
  REQUIRE_MESSAGE(lane.has_value(), lane.error().message);
  WorkerEnd worker(std::move(*ends), std::move(*call_memory));
  const auto ask = [&](DeviceCommand command) {
    command.call = worker.call;
    static_cast<void>(worker.send(command));
    const auto give_up = std::chrono::steady_clock::now() + 20s;
    for (bool some = true; some;) {
      REQUIRE(std::chrono::steady_clock::now() < give_up);
      some = (*lane)->step().value();
    }
    return worker.receive();
  };
  for (worker.call = 1; worker.call <= 2; ++worker.call) {
    const auto address = ask({.size = size, .kind = kind_of(DeviceCommandKind::alloc)}).value;
    for (const auto& [kind, area] :
         {std::pair(DeviceCommandKind::write, DeviceHostArea::call_input),
          std::pair(DeviceCommandKind::read, DeviceHostArea::call_output)})
      CHECK(ask({.address = address,
                 .size = size,
                 .kind = kind_of(kind),
                 .area = static_cast<std::uint8_t>(area)})
                .status == DeviceStatus::ok);
    CHECK(driver.pinned.size() == before.size() + 2);
    CHECK(ask({.kind = kind_of(DeviceCommandKind::end_call)}).status == DeviceStatus::ok);
    CHECK(driver.pinned == before);
    REQUIRE(usages.size() == worker.call);
    CHECK(usages.back().pinned >= 2 * size);
  }
}

}  // namespace orchid::executor
