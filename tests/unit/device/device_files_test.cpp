#include "device_files.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>

#include "scratch_folder.h"

using namespace orchid::executor;

namespace {

void list_gpu(const std::filesystem::path& gpus, const std::string& address,
              const std::string& uuid, int minor) {
  std::filesystem::create_directories(gpus / address);
  std::ofstream(gpus / address / "information")
      << "Model: \t\t NVIDIA A100-SXM4-40GB\nIRQ:   \t\t 153\nGPU UUID: \t " << uuid
      << "\nVideo BIOS: \t 92.00.45.00.03\nDevice Minor: \t " << minor << "\n";
}

bool has(const std::vector<std::filesystem::path>& paths, const std::string& path) {
  return std::ranges::find(paths, std::filesystem::path(path)) != paths.end();
}

}  // namespace

TEST_CASE("a GPU's files are those of its own number, which need not be its index") {
  const orchid::tests::Scratch gpus;
  list_gpu(gpus.path(), "0000:47:00.0", "GPU-second", 0);
  list_gpu(gpus.path(), "0000:07:00.0", "GPU-first", 3);
  for (const std::string gpu : {"0", "GPU-first"}) {
    const DeviceFiles files = device_files(gpu, gpus.path(), "/opt/driver:/more");
    CHECK(files.visible == "GPU-first");
    CHECK(has(files.devices, "/dev/nvidia3"));
    CHECK_FALSE(has(files.devices, "/dev/nvidia0"));
    CHECK(has(files.devices, "/dev/nvidiactl"));
    CHECK(has(files.devices, "/dev/nvidia-uvm"));
    CHECK(has(files.readable, "/opt/driver"));
    CHECK(has(files.readable, "/more"));
  }
  CHECK(device_files("1", gpus.path(), "").visible == "GPU-second");
}

TEST_CASE("a slice may be of any GPU, and has a capability's file") {
  const orchid::tests::Scratch gpus;
  list_gpu(gpus.path(), "0000:07:00.0", "GPU-first", 0);
  list_gpu(gpus.path(), "0000:47:00.0", "GPU-second", 1);
  const DeviceFiles files = device_files("MIG-1234", gpus.path(), "");
  CHECK(files.visible == "MIG-1234");
  CHECK(has(files.devices, "/dev/nvidia-caps"));
  CHECK(has(files.devices, "/dev/nvidia0"));
  CHECK(has(files.devices, "/dev/nvidia1"));
}

TEST_CASE("cards are counted without a driver") {
  const orchid::tests::Scratch devices;
  const auto add = [&devices](const std::string& address, const char* vendor, const char* kind) {
    std::filesystem::create_directory(devices / address);
    std::ofstream(devices / address / "vendor") << vendor << "\n";
    std::ofstream(devices / address / "class") << kind << "\n";
  };
  CHECK(count_cards(devices.path()) == 0);
  add("0000:01:00.0", "0x10de", "0x030000");
  add("0000:01:00.1", "0x10de", "0x040300");  // its sound
  add("0000:07:00.0", "0x10de", "0x030200");
  add("0000:08:00.0", "0x1002", "0x030000");
  CHECK(count_cards(devices.path()) == 2);
  CHECK(count_cards("/nonexistent") == 0);
}

TEST_CASE("what the system does not tell is left to the driver") {
  const DeviceFiles files = device_files("2", "/nonexistent", "");
  CHECK(files.visible == "2");
  CHECK(files.devices.size() == 3);
}
