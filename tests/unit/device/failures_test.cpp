#include <doctest/doctest.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <string>

#include "device_under_test.h"

using namespace orchid;
using namespace orchid::executor;
using namespace orchid::executor::test;

namespace {

/// A kernel fails in this way: what waits for it and what comes behind it is told, then the agent.
void check_breaks(const std::string& orders, const std::string& kernel, DeviceStatus status,
                  DeviceFault fault, const std::string& words) {
  DeviceUnderTest device;
  const auto worker = device.open_lane();
  const OnePointer args{worker->allocate(4096)};
  device.order(orders);
  CHECK(worker->launch(kernel, args, 100).status == DeviceStatus::ok);
  worker->send({.call = 1, .kind = kind_of(DeviceCommandKind::wait)});
  const auto waited = worker->receive();
  CHECK(waited.status == status);
  CHECK_MESSAGE(waited.text.find(words) != std::string::npos, waited.text);
  const auto ended = device.expect<DeviceEnded>();
  CHECK(ended.fault == fault);
  CHECK(ended.message.find(words) != std::string::npos);
  CHECK(device.is_gone());
  CHECK(device.wait_for_end().status == 1);
}

}  // namespace

TEST_CASE("a kernel that ends its context costs the device process, with the driver's words") {
  check_breaks("fail count 719\n", "count", DeviceStatus::crashed, DeviceFault::crashed, "719");
}

TEST_CASE("a kernel that writes where nothing is ends its context") {
  check_breaks("", "wild", DeviceStatus::crashed, DeviceFault::crashed,
               "CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access was encountered");
}

TEST_CASE("a kernel that the driver's watchdog ends is told so, with what to do") {
  check_breaks(
      "slow count 1000000\nwatchdog 50\n", "count", DeviceStatus::crashed, DeviceFault::crashed,
      "CUDA_ERROR_LAUNCH_TIMEOUT (702): the launch timed out and was terminated; an item of "
      "the kernel, or a group of them, takes longer than the driver lets a kernel have this "
      "card: give each item less to do");
}

TEST_CASE("a GPU that fails is told apart from a kernel that does") {
  check_breaks("fail count 214\n", "count", DeviceStatus::lost, DeviceFault::lost,
               "CUDA_ERROR_ECC_UNCORRECTABLE");
  check_breaks("fail count 999\n", "count", DeviceStatus::lost, DeviceFault::lost, "999");
}

TEST_CASE("a device process that is killed in the middle of a launch is gone at once") {
  DeviceUnderTest device;
  device.order("slow count 1000000\n");
  const auto worker = device.open_lane();
  const OnePointer args{worker->allocate(4096)};
  CHECK(worker->launch("count", args, 1000).status == DeviceStatus::ok);
  device.process().send_signal(SIGKILL);
  CHECK(device.is_gone());
  CHECK(device.wait_for_end().signal == SIGKILL);
  // The next one has the GPU.
  DeviceUnderTest next;
  const auto other = next.open_lane();
  CHECK(other->allocate(4096) != 0);
}

TEST_CASE("a kernel that hangs leaves the lane's end unanswered until the process is killed") {
  DeviceUnderTest device;
  device.order("hang count\n");
  const auto worker = device.open_lane();
  const OnePointer args{worker->allocate(4096)};
  CHECK(worker->launch("count", args, 1000).status == DeviceStatus::ok);
  device.send(StopCall{.lane = device.lane(), .call = 1});
  device.send(EndLane{.lane = device.lane()});
  // It still hears the agent, and says that it is not free.
  device.send(ServeLane{.lane = 77});
  const auto refused = device.expect<DeviceLaneEnded>();
  CHECK(refused.lane == 77);
  CHECK(refused.message.find("still serves lane 1") != std::string::npos);
  device.process().send_signal(SIGKILL);
  CHECK(device.is_gone());
  CHECK(device.wait_for_end().signal == SIGKILL);
}

TEST_CASE("a lane that ends in the middle of a launch frees everything for the next one") {
  DeviceUnderTest device;
  device.order("slow count 100000\n");
  auto worker = device.open_lane({.call_bytes = 8ULL << 20});
  const OnePointer args{worker->allocate(4096)};
  CHECK(worker->launch("count", args, 1'000'000).status == DeviceStatus::ok);
  worker.reset();  // the worker has died
  const auto usage = device.end_lane();
  CHECK(usage.memory == 0);
  CHECK(usage.pinned == 0);
  device.order("");
  worker = device.open_lane();
  const OnePointer again{worker->allocate(4096)};
  CHECK(worker->launch("count", again, 100).status == DeviceStatus::ok);
  CHECK(worker->wait_for(0).status == DeviceStatus::ok);
  CHECK(worker->read(again.memory, 4) == std::string("\1\0\0\0", 4));
  // Ended already: answered all the same.
  static_cast<void>(device.end_lane());
  device.send(EndLane{.lane = device.lane()});
  CHECK(device.expect<DeviceLaneEnded>().lane == device.lane());
}

TEST_CASE("what no worker would write ends the lane, and nothing else") {
  using enum DeviceCommandKind;
  const DeviceCommand good{.call = 1, .size = 64, .kind = kind_of(alloc)};
  const auto with = [&good](const std::function<void(DeviceCommand&)>& change,
                            const std::string& rest = {}) {
    DeviceCommand command = good;
    change(command);
    return std::string(reinterpret_cast<const char*>(&command), sizeof command) + rest;
  };
  const std::vector<std::string> nonsense{
      "",
      std::string(sizeof(DeviceCommand) - 1, '\0'),
      with([](auto& c) { c.kind = 0; }),
      with([](auto& c) { c.kind = 8; }),
      with([](auto& c) { c.reserved = 1; }),
      with([](auto&) {}, "more"),
      with([](auto& c) { c.kind = kind_of(write); }, "short"),
      with([](auto& c) { c.kind = kind_of(write), c.area = 3; }),
      with([](auto& c) { c.kind = kind_of(write), c.area = 1; }),  // this lane has no slab
      with([](auto& c) { c.kind = kind_of(read), c.size = most_payload_bytes.value + 1; }),
      with([](auto& c) { c.kind = kind_of(read), c.area = 2, c.offset = ~std::uint64_t{0}; }),
      with([](auto& c) { c.kind = kind_of(launch); }),
      with([](auto& c) { c.kind = kind_of(launch), c.name_length = 5; }, "four"),
      with([](auto& c) { c.kind = kind_of(launch), c.name_length = 5; }, "a b c"),
      with([](auto& c) { c.kind = kind_of(launch), c.name_length = 5, c.args_size = 8; }, "count"),
      with([](auto& c) { c.kind = kind_of(launch), c.name_length = 5, c.args_size = 4097; },
           std::string(5 + 4097, 'a')),
      with([](auto& c) { c.kind = kind_of(launch), c.name_length = 257; }, std::string(257, 'a')),
  };
  DeviceUnderTest device;
  for (std::size_t i = 0; i < nonsense.size(); ++i) {
    CAPTURE(i);
    const auto worker = device.open_lane();
    CHECK(worker->allocate(4096) != 0);
    worker->send_raw(nonsense[i]);
    const auto ended = device.expect<DeviceLaneEnded>();
    CHECK(ended.lane == device.lane());
    CHECK(ended.end == DeviceLaneEnd::worker);
    CHECK(ended.message.find("nonsense") != std::string::npos);
  }
  SUBCASE("a stream") {
    const auto worker = device.open_lane();
    worker->send_raw(with([](auto&) {}), flag_stream);
    CHECK(device.expect<DeviceLaneEnded>().message.find("nonsense") != std::string::npos);
  }
  SUBCASE("a call number that falls") {
    const auto worker = device.open_lane();
    worker->call = 5;
    CHECK(worker->allocate(64) != 0);
    worker->send_raw(with([](auto&) {}));
    CHECK(device.expect<DeviceLaneEnded>().message.find("call number") != std::string::npos);
  }
  SUBCASE("offsets beyond the call's slabs") {
    for (const auto& [offset, size] : std::vector<std::pair<std::uint64_t, std::uint64_t>>{
             {8192, 1}, {0, 8193}, {4096, ~std::uint64_t{0}}, {~std::uint64_t{0}, 1}}) {
      const auto worker = device.open_lane({.call_bytes = 8192});
      worker->send_raw(with(
          [&](auto& c) { c.kind = kind_of(read), c.area = 1, c.offset = offset, c.size = size; }));
      CHECK(device.expect<DeviceLaneEnded>().message.find("offset") != std::string::npos);
    }
  }
  const auto worker = device.open_lane();
  CHECK(worker->allocate(4096) != 0);
}

TEST_CASE("an agent's order that does not fit is refused, and nothing else happens") {
  DeviceUnderTest device;
  device.send_raw("{}");
  device.send_raw(R"({"type":"dance"})");
  device.send(DeviceEnded{});  // not for a device process
  device.send(ServeLane{.lane = 50});
  CHECK(device.expect<DeviceLaneEnded>().message.find("descriptors") != std::string::npos);
  device.send(ServeLane{.lane = 51, .call_request_bytes = 1}, {0, 0, 0, 0});
  CHECK(device.expect<DeviceLaneEnded>().message.find("size of a slab") != std::string::npos);
  device.send(ServeLane{.lane = 52}, {0, 0, 0});  // no lane's memory
  const auto not_taken = device.expect<DeviceLaneEnded>();
  CHECK(not_taken.end == DeviceLaneEnd::system);  // no worker has done anything
  CHECK_FALSE(not_taken.message.empty());
  device.send(LoadKernels{.lane = 9});
  CHECK(device.expect<KernelsRefused>().message.find("does not serve") != std::string::npos);
  const auto worker = device.open_lane();
  CHECK(worker->allocate(4096) != 0);
}

TEST_CASE("an agent that does not read for a while is not taken for one that has gone") {
  DeviceUnderTest device;
  const auto worker = device.open_lane();
  constexpr std::uint64_t calls = 1000;  // three times what the socket has room for
  for (std::uint64_t call = 1; call <= calls; ++call) {
    worker->call = call;
    CHECK(worker->allocate(call * 256) != 0);
    CHECK(worker->end_call().status == DeviceStatus::ok);
  }
  // Not a message for each of them, and the last one says all.
  std::uint64_t told = 1;
  auto usage = device.expect<DeviceUsage>();
  for (; usage.call < calls; ++told) usage = device.expect<DeviceUsage>();
  CHECK(told < calls);
  CHECK(usage.peak_memory == calls * 256);
}

TEST_CASE("what a few calls have used is told after each, since the process may be ended then") {
  DeviceUnderTest device;
  const auto worker = device.open_lane();
  for (worker->call = 1; worker->call <= 5; ++worker->call) {
    CHECK(worker->allocate(256) != 0);
    CHECK(worker->end_call().status == DeviceStatus::ok);
  }
  for (std::uint64_t call = 1; call <= 5; ++call) CHECK(device.expect<DeviceUsage>().call == call);
}

TEST_CASE("a device process ends with its agent") {
  DeviceUnderTest device;
  device.close_socket();
  CHECK(device.wait_for_end().status == 0);
}
