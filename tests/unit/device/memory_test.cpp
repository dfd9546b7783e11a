#include <doctest/doctest.h>

#include <string>

#include "device_under_test.h"

using namespace orchid;
using namespace orchid::executor;
using namespace orchid::executor::test;

namespace {

DeviceCommand copy(DeviceCommandKind kind, DeviceHostArea area, std::uint64_t address,
                   std::uint64_t offset, std::uint64_t size) {
  return {.call = 1,
          .address = address,
          .size = size,
          .offset = offset,
          .kind = kind_of(kind),
          .area = static_cast<std::uint8_t>(area)};
}

void fill(std::span<std::byte> bytes) {
  for (std::size_t i = 0; i < bytes.size(); i += 512) bytes[i] = static_cast<std::byte>(i / 512);
}

/// From one slab of the call's lane to the device, and back into the other one.
void copy_through(WorkerEnd& worker, std::uint64_t offset, std::uint64_t size) {
  const auto address = worker.allocate(size);
  const auto input = worker.call_memory().request_slab().subspan(offset, size);
  fill(input);
  const auto written =
      worker.ask(copy(DeviceCommandKind::write, DeviceHostArea::call_input, address, offset, size));
  REQUIRE_MESSAGE(written.status == DeviceStatus::ok, written.text);
  const auto read = worker.ask(
      copy(DeviceCommandKind::read, DeviceHostArea::call_output, address, offset + 4096, size));
  REQUIRE_MESSAGE(read.status == DeviceStatus::ok, read.text);
  const auto output = worker.call_memory().response_slab().subspan(offset + 4096, size);
  CHECK(std::memcmp(input.data(), output.data(), size) == 0);
}

}  // namespace

TEST_CASE("the slabs of the call's lane are registered in ranges of 64 MiB, and counted") {
  DeviceUnderTest device;
  const auto worker = device.open_lane({.memory_limit = 256ULL << 20, .call_bytes = 200ULL << 20});
  // Over the border of two windows.
  copy_through(*worker, (60ULL << 20) + 512, 8ULL << 20);
  CHECK(worker->end_call().status == DeviceStatus::ok);
  const auto usage = device.expect<DeviceUsage>();
  CHECK(usage.pinned >= 16ULL << 20);
  CHECK(usage.pinned <= 24ULL << 20);
  // A part of a range that is there, and one that lets it grow.
  copy_through(*worker, 62ULL << 20, 64);
  copy_through(*worker, 50ULL << 20, 1ULL << 20);
  copy_through(*worker, 0, 130ULL << 20 >> 1);
  CHECK(worker->end_call().status == DeviceStatus::ok);
  const auto second = device.expect<DeviceUsage>();
  CHECK(second.pinned >= 70ULL << 20);  // of this call alone
  CHECK(device.end_lane().pinned == 0);
}

TEST_CASE("where nothing can be registered, copies go through a buffer") {
  DeviceUnderTest device({.orders = "no_register\n"});
  CHECK(device.expect<DeviceReady>().model == "Fake GPU");
  const auto worker = device.open_lane({.call_bytes = 64ULL << 20});
  copy_through(*worker, 512, 20ULL << 20);
  copy_through(*worker, 100, 1000);
  CHECK(worker->end_call().status == DeviceStatus::ok);
  CHECK(device.expect<DeviceUsage>().pinned == 0);
}

TEST_CASE("device memory has a limit for each lane, and is free again when the call ends") {
  DeviceUnderTest device;
  const auto worker = device.open_lane({.memory_limit = 1ULL << 20});
  const auto allocate = [&](std::uint64_t size) {
    return worker->ask(
        {.call = worker->call, .size = size, .kind = kind_of(DeviceCommandKind::alloc)});
  };
  CHECK(allocate(600'000).status == DeviceStatus::ok);
  const auto over = allocate(600'000);
  CHECK(over.status == DeviceStatus::out_of_memory);
  CHECK_MESSAGE(over.text.find("the limit is 1 MiB") != std::string::npos, over.text);
  CHECK(allocate(~std::uint64_t{0}).status == DeviceStatus::out_of_memory);
  CHECK(allocate(0).status == DeviceStatus::refused);
  CHECK(worker->end_call().status == DeviceStatus::ok);
  const auto usage = device.expect<DeviceUsage>();
  CHECK(usage.memory == 0);
  CHECK(usage.peak_memory >= 600'000);
  CHECK(usage.peak_memory <= 1ULL << 20);
  ++worker->call;
  const auto all = allocate(1ULL << 20);
  REQUIRE(all.status == DeviceStatus::ok);
  CHECK(worker
            ->ask({.call = worker->call,
                   .address = all.value,
                   .kind = kind_of(DeviceCommandKind::free)})
            .status == DeviceStatus::ok);
  CHECK(allocate(1ULL << 20).status == DeviceStatus::ok);
}

TEST_CASE("a device that has no memory left says so in the driver's words") {
  DeviceUnderTest device;
  const auto worker = device.open_lane({.memory_limit = 1ULL << 40});
  const auto more_than_all =
      worker->ask({.call = 1, .size = 1ULL << 39, .kind = kind_of(DeviceCommandKind::alloc)});
  CHECK(more_than_all.status == DeviceStatus::out_of_memory);
  CHECK(more_than_all.text.find("CUDA_ERROR_OUT_OF_MEMORY") != std::string::npos);
  CHECK(worker->allocate(4096) != 0);
}

TEST_CASE("memory is all zero, also where another lane's was") {
  DeviceUnderTest device;
  auto worker = device.open_lane();
  const auto first = worker->allocate(64 * 1024);
  worker->write(first, std::string(64 * 1024, 'x'));
  static_cast<void>(device.end_lane());
  worker = device.open_lane();
  const auto second = worker->allocate(64 * 1024);
  CHECK(second == first);  // the fake's is the same
  CHECK(worker->read(second, 64 * 1024) == std::string(64 * 1024, '\0'));
}

TEST_CASE("addresses that are not the call's are refused") {
  DeviceUnderTest device;
  const auto worker = device.open_lane();
  const auto address = worker->allocate(4096);
  const auto check_refused = [&](const DeviceCommand& command) {
    const auto answer = worker->ask(command);
    CHECK(answer.status == DeviceStatus::refused);
    CHECK_FALSE(answer.text.empty());
  };
  using enum DeviceCommandKind;
  constexpr auto payload = DeviceHostArea::payload;
  check_refused({.call = 1, .address = address + 256, .kind = kind_of(free)});
  check_refused({.call = 1, .address = 0, .kind = kind_of(free)});
  check_refused(copy(read, payload, address, 0, 4097));
  check_refused(copy(read, payload, address + 1, 0, 4096));
  check_refused(copy(read, payload, address - 1, 0, 1));
  check_refused(copy(read, payload, ~std::uint64_t{0}, 0, 2));
  const auto odd = worker->allocate(100);
  CHECK(worker->read(odd, 100) == std::string(100, '\0'));
  check_refused(copy(read, payload, odd, 0, 101));
  CHECK(worker->read(address + 4095, 1) == std::string(1, '\0'));
  CHECK(worker->ask({.call = 1, .address = address, .kind = kind_of(free)}).status ==
        DeviceStatus::ok);
  check_refused({.call = 1, .address = address, .kind = kind_of(free)});
  check_refused(copy(read, payload, address, 0, 1));
}
