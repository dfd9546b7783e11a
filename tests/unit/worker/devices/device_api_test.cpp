// The functions of orchid/kernel.h on cores, as an entry calls them.
#include <doctest/doctest.h>

#include <array>
#include <cfenv>
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "call_parts.h"
#include "devices/cores_device.h"
#include "orchid/kernel.h"
#include "runtime_symbols/runtime_symbols.h"
#include "user_code/call_context.h"
#include "user_code/runtime_overrides.h"

struct SaxpyArgs {
  float a;
  const float* x;
  float* y;
};
ORCHID_KERNEL(saxpy, SaxpyArgs) { args.y[item] += args.a * args.x[item]; }

struct SumArgs {
  const float* x;
  float* sums;
};
ORCHID_GROUP_KERNEL(group_sum, SumArgs, 48) {
  ORCHID_LOCAL(float, part, 48);
  ORCHID_ITEMS { part[local] = args.x[item]; }
  ORCHID_ITEMS {
    if (local == 0) {
      float sum = 0;
      for (std::uint32_t i = 0; i < orchid_count; ++i) sum += part[i];
      args.sums[group] = sum;
    }
  }
}

struct DivideArgs {
  double* y;
};
ORCHID_KERNEL(divide, DivideArgs) { args.y[item] = 1.0 / (static_cast<double>(item) + 3); }

struct StopArgs {
  orchid::executor::StatusPage* page;
  std::uint64_t* ran;
};
ORCHID_KERNEL(asks_to_stop, StopArgs) {
  args.page->stop.store(1);
  __atomic_fetch_add(args.ran, 1, __ATOMIC_RELAXED);
}

struct NestArgs {
  orchid_call* call;
  std::int32_t* status;
};
ORCHID_KERNEL(launches, NestArgs) {
  const DivideArgs nothing{nullptr};
  args.status[item] = orchid_launch(args.call, &divide, &nothing, sizeof nothing, 1);
}

ORCHID_DECLARE_KERNEL(for_gpus_only, DivideArgs)

namespace orchid::executor {
namespace {

/// A worker with a call, as far as a device sees it.
class DeviceFixture : public test::CallParts {
 public:
  explicit DeviceFixture(std::int32_t cores) : device(rate) { call.core_count = cores; }
  [[nodiscard]] std::string message() const { return std::string(call.message_text()); }

  CoresDevice device;
  orchid_call call = make_call(device);
};

std::vector<float> numbers(std::size_t count) {
  std::vector<float> made(count);
  for (std::size_t i = 0; i < count; ++i) made[i] = static_cast<float>(i % 1013) * 0.37F - 100;
  return made;
}

std::vector<float> saxpy_on(std::int32_t cores, std::size_t items) {
  DeviceFixture fixture(cores);
  const std::vector<float> x = numbers(items);
  std::vector<float> y = numbers(items);
  const SaxpyArgs args{1.7F, x.data(), y.data()};
  for (int i = 0; i < 3; ++i)
    CHECK(orchid_launch(&fixture.call, &saxpy, &args, sizeof args, items) == ORCHID_OK);
  CHECK(orchid_device_wait(&fixture.call) == ORCHID_OK);
  CHECK(fixture.device.end_call().empty());
  return y;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the result of a launch has the same bits for any number of cores") {
  constexpr std::size_t items = 3'000'001;
  const auto one = saxpy_on(1, items);
  CHECK(saxpy_on(2, items) == one);
  CHECK(saxpy_on(5, items) == one);
}

TEST_CASE("groups are whole on any number of cores, but for the last") {
  constexpr std::size_t items = 1'000'003;
  const std::vector<float> x = numbers(items);
  const auto sums_on = [&](std::int32_t cores) {
    DeviceFixture fixture(cores);
    std::vector<float> sums(items / 48 + 1, -1);
    const SumArgs args{x.data(), sums.data()};
    CHECK(orchid_launch(&fixture.call, &group_sum, &args, sizeof args, items) == ORCHID_OK);
    return sums;
  };
  const auto sums = sums_on(1);
  float last = 0;
  for (std::size_t i = items / 48 * 48; i < items; ++i) last += x[i];
  CHECK(sums.back() == last);
  CHECK(sums_on(3) == sums);
}

TEST_CASE("kernels compute alike on all threads, and the entry's own state stays") {
  std::vector<double> y(2'000'000);
  DeviceFixture fixture(2);
  std::fesetround(FE_UPWARD);
  const DivideArgs args{y.data()};
  CHECK(orchid_launch(&fixture.call, &divide, &args, sizeof args, y.size()) == ORCHID_OK);
  CHECK(std::fegetround() == FE_UPWARD);
  std::fesetround(FE_TONEAREST);
  bool alike = true;
  for (std::size_t i = 0; i < y.size(); ++i)
    alike = alike && y[i] == 1.0 / (static_cast<double>(i) + 3);
  CHECK(alike);
}

TEST_CASE("a launch that cannot be says why") {
  DeviceFixture fixture(1);
  double value = 0;
  const DivideArgs args{&value};
  const auto refused = [&](const orchid_kernel* kernel, const void* given, std::size_t size,
                           std::uint64_t items) {
    CHECK(orchid_launch(&fixture.call, kernel, given, size, items) == ORCHID_ERROR);
    return fixture.message();
  };
  CHECK(has(refused(nullptr, &args, sizeof args, 1), "no kernel"));
  const orchid_kernel nameless{};
  CHECK(has(refused(&nameless, &args, sizeof args, 1), "no kernel"));
  CHECK(has(refused(&divide, &args, 4, 1),
            "kernel 'divide' takes 8 bytes of arguments, and orchid_launch was given 4"));
  CHECK(has(refused(&divide, nullptr, sizeof args, 1), "without its arguments"));
  CHECK(has(refused(&divide, &args, sizeof args, std::uint64_t{1} << 63),
            "cannot be launched over 9223372036854775808 items: at most 281474976710656"));
  CHECK(has(refused(&divide, &args, sizeof args, ORCHID_MAXIMUM_ITEMS + 1), "at most"));
  CHECK(has(refused(&for_gpus_only, &args, sizeof args, 1),
            "kernel 'for_gpus_only' has no image for cores"));
  CHECK(value == 0);
  CHECK(orchid_launch(&fixture.call, &divide, &args, sizeof args, 0) == ORCHID_OK);
  CHECK(value == 0);
}

TEST_CASE("a launch stops between two pieces") {
  DeviceFixture fixture(2);
  std::uint64_t ran = 0;
  const StopArgs args{&fixture.page, &ran};
  CHECK(orchid_launch(&fixture.call, &asks_to_stop, &args, sizeof args, ORCHID_MAXIMUM_ITEMS) ==
        ORCHID_STOP);
  CHECK(ran >= 1);
  CHECK(ran < 1000);
  CHECK(orchid_device_wait(&fixture.call) == ORCHID_STOP);
  std::byte byte{};
  void* memory = orchid_device_alloc(&fixture.call, 1);
  CHECK(orchid_device_write(&fixture.call, memory, &byte, 1) == ORCHID_STOP);
}

TEST_CASE("a kernel cannot launch another") {
  DeviceFixture fixture(1);
  std::array<std::int32_t, 2> status{};
  const NestArgs args{&fixture.call, status.data()};
  CHECK(orchid_launch(&fixture.call, &launches, &args, sizeof args, 2) == ORCHID_OK);
  CHECK(status[1] == ORCHID_ERROR);
  CHECK(has(fixture.message(), "a kernel cannot launch another"));
}

TEST_CASE("device memory is aligned, copied within its bounds, and gone with the call") {
  DeviceFixture fixture(1);
  auto* memory = static_cast<std::byte*>(orchid_device_alloc(&fixture.call, 100));
  REQUIRE(memory != nullptr);
  CHECK(reinterpret_cast<std::uintptr_t>(memory) % 256 == 0);
  std::array<std::byte, 101> bytes{};
  bytes[99] = std::byte{7};
  CHECK(orchid_device_write(&fixture.call, memory, bytes.data(), 100) == ORCHID_OK);
  std::byte last{};
  CHECK(orchid_device_read(&fixture.call, &last, memory + 99, 1) == ORCHID_OK);
  CHECK(last == std::byte{7});
  for (const auto& [offset, size] : {std::pair<std::ptrdiff_t, std::size_t>{0, 101},
                                     {1, 100},
                                     {100, 1},
                                     {-1, 1},
                                     {50, std::numeric_limits<std::size_t>::max()}}) {
    CAPTURE(offset);
    CHECK(orchid_device_write(&fixture.call, memory + offset, bytes.data(), size) == ORCHID_ERROR);
    CHECK(has(fixture.message(), "orchid_device_write: these " + std::to_string(size)));
    CHECK(orchid_device_read(&fixture.call, bytes.data(), memory + offset, size) == ORCHID_ERROR);
  }
  CHECK(orchid_device_write(&fixture.call, memory, nullptr, 1) == ORCHID_ERROR);
  CHECK(orchid_device_read(&fixture.call, nullptr, memory, 1) == ORCHID_ERROR);
  CHECK(orchid_device_write(&fixture.call, nullptr, nullptr, 0) == ORCHID_OK);
  CHECK(fixture.device.end_call().empty());
  CHECK(orchid_device_read(&fixture.call, &last, memory, 1) == ORCHID_ERROR);
}

TEST_CASE("memory that is not there is refused, and remembered as the reason") {
  DeviceFixture fixture(1);
  CHECK(orchid_device_alloc(&fixture.call, std::numeric_limits<std::size_t>::max()) == nullptr);
  CHECK(orchid_device_alloc(&fixture.call, std::size_t{1} << 62) == nullptr);
  CHECK((fixture.page.refused.load() & refused_device) != 0);
  CHECK(has(fixture.message(), "no room for 4611686018427387904 bytes more of device memory"));
  CHECK(orchid_device_alloc(&fixture.call, 0) != nullptr);
}

TEST_CASE("freeing what is no device memory is told in the log, and does nothing") {
  DeviceFixture fixture(1);
  orchid_device_free(&fixture.call, nullptr);
  CHECK(fixture.log.empty());
  int other = 0;
  orchid_device_free(&fixture.call, &other);
  void* memory = orchid_device_alloc(&fixture.call, 8);
  orchid_device_free(&fixture.call, memory);
  const std::string before(fixture.log.text());
  CHECK(has(before, "is not device memory of this call"));
  orchid_device_free(&fixture.call, memory);
  CHECK(fixture.log.text().size() > before.size());
}

TEST_CASE("what a call changes of signals or locales does not stay with the team") {
  DeviceFixture fixture(2);
  std::vector<double> y(2'000'000);
  const DivideArgs args{y.data()};
  const auto launch = [&] {
    CHECK(orchid_launch(&fixture.call, &divide, &args, sizeof args, y.size()) == ORCHID_OK);
  };
  launch();
  CHECK(fixture.device.end_call().empty());
  CHECK(fixture.device.thread_count() == 1);
  launch();
  override_targets().signals_changed = true;
  CHECK(fixture.device.end_call().empty());
  override_targets().signals_changed = false;
  CHECK(fixture.device.thread_count() == 0);
}

TEST_CASE("every host function of the header can be linked by a module") {
  for (const char* name :
       {"orchid_device_kind", "orchid_device_alloc", "orchid_device_free", "orchid_device_write",
        "orchid_device_read", "orchid_launch", "orchid_device_wait"}) {
    CAPTURE(std::string(name));
    CHECK(find_override(name) != nullptr);
    CHECK(is_runtime_symbol(name));
  }
}

}  // namespace orchid::executor
