#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "device_under_test.h"
#include "processes/run_to_end.h"

using namespace orchid;
using namespace orchid::executor;
using namespace orchid::executor::test;

namespace {

/// Why a device process does not begin.
DeviceEnded refusal(const DeviceUnderTest::Options& options) {
  DeviceUnderTest device(options);
  auto ended = device.expect<DeviceEnded>();
  CHECK(device.is_gone());
  CHECK(device.wait_for_end().status == 1);
  return ended;
}

void check_refusal(const DeviceUnderTest::Options& options, DeviceFault fault, const char* words) {
  const auto ended = refusal(options);
  CHECK(ended.fault == fault);
  CHECK_MESSAGE(ended.message.find(words) != std::string::npos, ended.message);
}

/// The line of /proc/PID/status.
std::string status_line(pid_t pid, const std::string& name) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(name + ":"))
      return line.substr(line.find_first_not_of(" \t", name.size() + 1));
  return {};
}

}  // namespace

TEST_CASE("a device process says which GPU it has") {
  DeviceUnderTest device(DeviceUnderTest::Options{});
  const auto ready = device.expect<DeviceReady>();
  CHECK(ready.driver == "CUDA 12.4");
  CHECK(ready.model == "Fake GPU");
  CHECK(ready.uuid == "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f");
  CHECK(ready.architecture == "sm_80");
  CHECK(ready.memory == 256ULL << 20);
  CHECK(ready.multiprocessors == 2);
}

TEST_CASE("a driver that is missing, too old or without a card is told apart") {
  // Where a real driver is installed this finds that one.
  if (!std::filesystem::exists("/dev/nvidiactl"))
    check_refusal({.has_driver = false}, DeviceFault::no_driver, "libcuda.so.1");
  check_refusal({.orders = "driver 10020\n"}, DeviceFault::old_driver, "CUDA 10.2");
  check_refusal({.orders = "devices 0\n"}, DeviceFault::no_device, "nvidia-smi");
  check_refusal({.orders = "init 803\n"}, DeviceFault::old_driver, "reboot");
  check_refusal({.orders = "init 34\n"}, DeviceFault::no_driver, "stub");
  check_refusal({.orders = "init 999\n"}, DeviceFault::refused, "dmesg");
  check_refusal({.orders = "context 2\n"}, DeviceFault::refused, "CUDA_ERROR_OUT_OF_MEMORY");
}

TEST_CASE("a GPU whose first kernel does not run is not offered") {
  check_refusal({.orders = "fail first 214\n"}, DeviceFault::lost, "first kernel");
  check_refusal({.orders = "refuse nothing today\n"}, DeviceFault::refused, "nothing today");
}

TEST_CASE("the driver's threads are confined with ours, and can open nothing any more") {
  DeviceUnderTest device;
  const auto worker = device.open_lane();
  const OnePointer args{worker->allocate(64)};
  CHECK(worker->launch("escape", args, 1).status == DeviceStatus::ok);
  const auto reached = worker->read(args.memory, sizeof(std::uint64_t));
  std::uint64_t bits = 0;
  std::memcpy(&bits, reached.data(), sizeof(bits));
  CHECK(bits == 1000);
  const pid_t pid = device.process().pid();
  CHECK(status_line(pid, "Seccomp") == "2");
  CHECK(status_line(pid, "NoNewPrivs") == "1");
  CHECK(status_line(pid, "CapEff") == "0000000000000000");
  CHECK(std::stoi(status_line(pid, "Threads")) > 1);
}

TEST_CASE("a device process limits its memory on the host once the driver has what it needs") {
  DeviceUnderTest device;
  std::ifstream file("/proc/" + std::to_string(device.process().pid()) + "/limits");
  std::string data;
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("Max data size")) data = line.substr(26);
  REQUIRE_FALSE(data.empty());
  // What the fake has reserved, and what the agent allows.
  CHECK(std::stoull(data) >= 512ULL << 20);
  CHECK(data.find("unlimited") != 0);
}

TEST_CASE("the probe names the driver and its GPUs, or says what is missing") {
  tests::Scratch scratch;
  const auto probe = [&scratch](const std::string& orders, const std::string& folders) {
    std::ofstream(scratch / "orders") << orders << std::flush;
    return processes::run_to_end(
        {.program = DEVICE_PROGRAM,
         .arguments = {"--probe-driver"},
         .environment = processes::environment_with(
             {"LD_LIBRARY_PATH=" + folders, "CUDA_FAKE_ORDERS=" + (scratch / "orders").string()})},
        {});
  };
  const auto good = probe("", FAKE_CUDA_FOLDER);
  REQUIRE(good.has_value());
  CHECK(good->output.find(R"("usable":true)") != std::string::npos);
  CHECK(good->output.find("Fake GPU") != std::string::npos);
  const auto old = probe("driver 9000\n", FAKE_CUDA_FOLDER);
  REQUIRE(old.has_value());
  CHECK(old->output.find(R"("fault":"old_driver")") != std::string::npos);
  CHECK(old->output.find(R"("usable":false)") != std::string::npos);
}
