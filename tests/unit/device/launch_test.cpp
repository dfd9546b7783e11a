#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "device_under_test.h"

using namespace orchid;
using namespace orchid::executor;
using namespace orchid::executor::test;

namespace {

struct SaxpyArgs {
  float a = 0;
  std::uint64_t x = 0;
  std::uint64_t y = 0;
};

template <typename T>
std::vector<T> values_of(const std::string& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

/// The sub-ranges that the kernel `pieces` has seen.
std::vector<std::pair<std::uint64_t, std::uint64_t>> pieces_of(const std::string& bytes) {
  const auto words = values_of<std::uint64_t>(bytes);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> pieces;
  for (std::uint64_t i = 0; i < words[0]; ++i)
    pieces.emplace_back(words[1 + 2 * i], words[2 + 2 * i]);
  return pieces;
}

}  // namespace

TEST_CASE("a kernel runs over what was written, and its result can be read") {
  DeviceUnderTest device;
  const auto worker = device.open_lane();
  constexpr std::size_t count = 10'000;
  std::vector<float> x(count);
  std::vector<float> y(count, 1);
  for (std::size_t i = 0; i < count; ++i) x[i] = static_cast<float>(i);
  const SaxpyArgs args{.a = 2,
                       .x = worker->allocate(count * sizeof(float)),
                       .y = worker->allocate(count * sizeof(float))};
  CHECK(args.x % 256 == 0);
  worker->write(args.x, bytes_of(x));
  worker->write(args.y, bytes_of(y));
  const auto launched = worker->launch("saxpy", args, count);
  REQUIRE_MESSAGE(launched.status == DeviceStatus::ok, launched.text);
  // A read is done when the launches before it have ended, without a wait.
  const auto result = values_of<float>(worker->read(args.y, count * sizeof(float)));
  for (std::size_t i = 0; i < count; ++i) REQUIRE(result[i] == 1 + 2 * static_cast<float>(i));
  CHECK(worker->wait_for(launched.value).status == DeviceStatus::ok);
  CHECK(worker->end_call().status == DeviceStatus::ok);
  const auto usage = device.expect<DeviceUsage>();
  CHECK(usage.call == 1);
  CHECK(usage.memory == 0);
  CHECK(usage.peak_memory >= 2 * count * sizeof(float));
  CHECK(usage.launches == 1);
}

TEST_CASE("a launch is cut into sub-ranges of at most 20 ms, without a gap") {
  DeviceUnderTest device;
  device.order("slow pieces 1000\n");
  const auto worker = device.open_lane();
  constexpr std::uint64_t items = 100'001;  // 100 ms
  constexpr std::uint64_t room = 64 * 1024;
  const OnePointer args{worker->allocate(room)};
  // The second launch knows from the first how long an item takes.
  for (int launch = 0; launch < 2; ++launch) {
    worker->write(args.memory, std::string(room, '\0'));
    const auto launched = worker->launch("pieces", args, items);
    REQUIRE_MESSAGE(launched.status == DeviceStatus::ok, launched.text);
    CHECK(worker->wait_for(launched.value).status == DeviceStatus::ok);
    const auto pieces = pieces_of(worker->read(args.memory, room));
    REQUIRE(pieces.size() >= 5);
    std::uint64_t next = 0;
    for (const auto& [begin, end] : pieces) {
      CHECK(begin == next);
      CHECK(end - begin <= 20'000);
      CHECK((end % 64 == 0 || end == items));
      next = end;
    }
    CHECK(next == items);
    // All but the first and the last take some milliseconds at least.
    if (launch == 1)
      for (std::size_t i = 0; i + 1 < pieces.size(); ++i)
        CHECK(pieces[i].second - pieces[i].first >= 1000);
  }
  const auto usage = device.end_lane();
  CHECK(usage.launches == 2);
  CHECK(usage.sub_ranges >= 10);
  CHECK(usage.long_sub_ranges == 0);
  CHECK(usage.kernel_us >= 200'000);
}

TEST_CASE("launches run in their order, each after the one before") {
  DeviceUnderTest device;
  const auto worker = device.open_lane();
  constexpr std::uint64_t items = 1000;
  const OnePointer args{worker->allocate(items * sizeof(std::uint32_t))};
  std::uint64_t before = 0;
  for (int i = 0; i < 100; ++i) {
    const auto launched = worker->launch(i % 2 == 0 ? "count" : "other", args, items);
    REQUIRE_MESSAGE(launched.status == DeviceStatus::ok, launched.text);
    CHECK(launched.value == launched.id);
    CHECK(launched.value > before);
    before = launched.value;
  }
  const auto waited = worker->wait_for(0);
  CHECK(waited.status == DeviceStatus::ok);
  CHECK(waited.value > 0);
  const auto counts = values_of<std::uint32_t>(worker->read(args.memory, items * 4));
  CHECK(std::ranges::all_of(counts, [](std::uint32_t count) { return count == 150; }));
}

TEST_CASE("a wait holds back no command that comes behind it") {
  DeviceUnderTest device;
  device.order("slow count 1000000\n");  // 1 ms for each item
  const auto worker = device.open_lane();
  const OnePointer args{worker->allocate(4096)};
  const auto launched = worker->launch("count", args, 640);
  REQUIRE_MESSAGE(launched.status == DeviceStatus::ok, launched.text);
  const auto wait =
      worker->send({.call = 1, .offset = launched.value, .kind = kind_of(DeviceCommandKind::wait)});
  const auto more =
      worker->send({.call = 1, .size = 64, .kind = kind_of(DeviceCommandKind::alloc)});
  const auto first = worker->receive();
  CHECK(first.id == wait);
  CHECK(first.status == DeviceStatus::not_yet);
  const auto second = worker->receive();
  CHECK(second.id == more);
  CHECK(second.status == DeviceStatus::ok);
  CHECK(worker->wait_for(launched.value).status == DeviceStatus::ok);
}

TEST_CASE("a call that is stopped ends between two sub-ranges, and the next one is served") {
  DeviceUnderTest device;
  device.order("slow count 100000\n");
  const auto worker = device.open_lane();
  constexpr std::uint64_t items = 10'000'000;  // 1000 s
  const OnePointer args{worker->allocate(items * sizeof(std::uint32_t))};
  const auto launched = worker->launch("count", args, items);
  REQUIRE_MESSAGE(launched.status == DeviceStatus::ok, launched.text);
  const auto wait =
      worker->send({.call = 1, .offset = launched.value, .kind = kind_of(DeviceCommandKind::wait)});
  device.send(StopCall{.lane = device.lane(), .call = 1});
  const auto stopped = worker->receive();
  CHECK(stopped.id == wait);
  CHECK(stopped.status == DeviceStatus::stopped);
  // Nothing that would begin something is done for it any more.
  CHECK(worker->launch("count", args, 1).status == DeviceStatus::stopped);
  CHECK(worker->ask({.call = 1, .size = 64, .kind = kind_of(DeviceCommandKind::alloc)}).status ==
        DeviceStatus::stopped);
  CHECK(worker->end_call().status == DeviceStatus::ok);
  const auto usage = device.expect<DeviceUsage>();
  CHECK(usage.memory == 0);
  CHECK(usage.sub_ranges < 1000);

  worker->call = 2;
  device.order("");
  const OnePointer again{worker->allocate(4096)};
  CHECK(worker->launch("count", again, 100).status == DeviceStatus::ok);
  CHECK(worker->wait_for(0).status == DeviceStatus::ok);
}

TEST_CASE("what cannot be launched is refused with a reason, and all goes on") {
  DeviceUnderTest device;
  const auto worker = device.open_lane();
  const OnePointer args{worker->allocate(4096)};
  const auto is_refused = [](const LaneAnswer& answer, const char* with) {
    CHECK(answer.status == DeviceStatus::refused);
    CHECK_MESSAGE(answer.text.find(with) != std::string::npos, answer.text);
  };
  is_refused(worker->launch("nobody", args, 10), "nobody");
  is_refused(worker->launch("untwinned", args, 10), "CUDA_ERROR_NOT_FOUND");
  is_refused(worker->launch("count", args, (std::uint64_t{1} << 48) + 1), "2^48");
  is_refused(worker->launch("count", args, std::uint64_t{1} << 63), "2^48");
  is_refused(worker->launch_bytes("count", bytes_of(std::array{args.memory}), 10, 2048), "1024");
  is_refused(worker->wait_for(1'000'000), "no such launch");
  is_refused(worker->ask({.call = 1,
                          .size = 1,
                          .module = 7,
                          .name_length = 5,
                          .kind = kind_of(DeviceCommandKind::launch)},
                         "count"),
             "no image for GPUs");

  device.order("refuse_launch count 701\n");
  CHECK(worker->launch("count", args, 10).status == DeviceStatus::ok);
  is_refused(worker->wait_for(0), "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES");
  device.order("");

  const auto nothing = worker->launch("count", args, 0);
  CHECK(nothing.status == DeviceStatus::ok);
  CHECK(worker->wait_for(nothing.value).status == DeviceStatus::ok);
  CHECK(worker->launch_bytes("count", bytes_of(std::array{args.memory}), 10, 1024).status ==
        DeviceStatus::ok);
  CHECK(worker->wait_for(0).status == DeviceStatus::ok);
  const auto counts = values_of<std::uint32_t>(worker->read(args.memory, 40));
  CHECK(counts == std::vector<std::uint32_t>(10, 1));
}

TEST_CASE("only so many launches stand in line") {
  DeviceUnderTest device;
  device.order("slow count 10000000\n");
  const auto worker = device.open_lane();
  const OnePointer args{worker->allocate(4096)};
  std::size_t taken = 0;
  LaneAnswer last;
  while (taken <= most_waiting_launches + 8) {
    last = worker->launch("count", args, 10);
    if (last.status != DeviceStatus::ok) break;
    ++taken;
  }
  CHECK(last.status == DeviceStatus::refused);
  CHECK(last.text.find("orchid_device_wait") != std::string::npos);
  CHECK(taken >= most_waiting_launches);
  device.send(StopCall{.lane = device.lane(), .call = 1});
  CHECK(worker->end_call().status == DeviceStatus::ok);
}

TEST_CASE("PTX that the driver does not take is refused with its log") {
  DeviceUnderTest device;
  const auto worker = device.open_lane();
  device.load(3, "this is no PTX");
  const auto refused = device.expect<KernelsRefused>();
  CHECK(refused.module == 3);
  CHECK(refused.message.find("CUDA_ERROR_INVALID_PTX") != std::string::npos);
  CHECK(refused.message.find("ptxas fatal") != std::string::npos);
  device.order("refuse ptxas application ptx input, line 9; error : Unknown symbol 'exp'\n");
  device.load(3, kernels_ptx());
  CHECK(device.expect<KernelsRefused>().message.find("line 9; error : Unknown symbol 'exp'") !=
        std::string::npos);
  device.order("");
  device.load(3, kernels_ptx());
  CHECK(device.expect<KernelsLoaded>().module == 3);
  device.send(LoadKernels{.lane = device.lane(), .module = 3});
  CHECK(device.expect<KernelsRefused>().message.find("descriptor") != std::string::npos);
}
