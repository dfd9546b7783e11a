// The order: one thread, and files and system calls are restricted to what a driver needs. Then the
// driver is loaded, with its threads, its context, its compiler and a first kernel. Then memory is
// limited: not before, because a context reserves a huge range of addresses. Then no file can be
// opened and no socket made any more, by any thread; only then is anything read that a user wrote.
#include "device_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <variant>

#include "cuda/cuda_driver.h"
#include "device/messages.h"
#include "device_files.h"
#include "device_server.h"
#include "foundation/json_document.h"
#include "foundation/log.h"
#include "foundation/sockets.h"
#include "sandbox/confinement.h"

namespace orchid::executor {
namespace {

constexpr int standard_error = 2;
constexpr unsigned long timer_slack_ns = 1000;

std::optional<DeviceStart> await_start(int control) {
  auto packet = receive_packet(control, true);
  if (!packet || !*packet) return std::nullopt;
  auto message = parse_device_message((*packet)->text);
  const auto* start = message ? std::get_if<DeviceStart>(&*message) : nullptr;
  if (start == nullptr) return std::nullopt;
  return *start;
}

ConfinementOptions confinement_of(const DeviceFiles& files, const DeviceStart& start, int control,
                                  int parent_pid) {
  ConfinementOptions options{.role = SandboxRole::device,
                             .data_limit = ByteCount{start.data_limit},
                             .parent_pid = parent_pid,
                             .keep_descriptors = {0, 1, standard_error, control},
                             .readable_paths = files.readable,
                             .device_paths = files.devices,
                             .writable_paths = files.writable};
  return options;
}

/// What a kernel prints goes nowhere, and not into a file that the driver has opened.
void close_standard_streams() {
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int number : {0, 1}) ::dup2(null.get(), number);
}

int give_up(int control, DeviceFault fault, const std::string& message) {
  log::error("event=no_device fault={} message=\"{}\"", to_string(fault), message);
  static_cast<void>(send_packet(control, encode(DeviceEnded{.fault = fault, .message = message})));
  return 1;
}

}  // namespace

int run_device_process(int control, int parent_pid) {
  const auto begin = std::chrono::steady_clock::now();
  const auto start = await_start(control);
  if (!start) return 1;
  const char* const library_path = std::getenv("LD_LIBRARY_PATH");
  const DeviceFiles files = device_files(start->gpu, "/proc/driver/nvidia/gpus",
                                         library_path == nullptr ? "" : library_path);
  close_standard_streams();
  ::setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
  ::setenv("CUDA_VISIBLE_DEVICES", files.visible.c_str(), 1);
  ::setenv("CUDA_CACHE_DISABLE", "1", 1);  // its files would outlive a tenant
  ::prctl(PR_SET_TIMERSLACK, timer_slack_ns, 0, 0, 0);
  const ConfinementOptions confinement = confinement_of(files, *start, control, parent_pid);
  if (auto confined = confine(confinement); !confined)
    return give_up(control, DeviceFault::refused, confined.error().message);
  auto driver = cuda::open_driver();
  if (!driver)
    return give_up(control, driver.error().fault,
                   driver.error().message + "; " + driver.error().remedy);
  auto copies = CopyResources::make(**driver);
  if (!copies) return give_up(control, DeviceFault::refused, copies.error().message);
  if (auto confined = confine_further(confinement); !confined)
    return give_up(control, DeviceFault::refused, confined.error().message);
  const DeviceDescription& device = (*driver)->device();
  const auto took = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - begin);
  static_cast<void>(send_packet(
      control, encode(DeviceReady{.driver = device.driver,
                                  .model = device.model,
                                  .uuid = device.uuid,
                                  .architecture = device.architecture,
                                  .memory = device.memory,
                                  .multiprocessors = device.multiprocessors,
                                  .start_us = static_cast<std::uint64_t>(took.count())})));
  // Nothing is cleaned up: a driver whose kernel hangs would wait for it.
  ::_exit(DeviceServer(**driver, std::move(*copies), control).run());
}

int report_driver() {
  const auto report = [](const nlohmann::json& found) {
    fmt::print("{}\n", dump_json(found));
    return found.at("usable").get<bool>() ? 0 : 1;
  };
  const auto library = cuda::Library::open();
  if (!library)
    return report({{"usable", false},
                   {"fault", to_string(library.error().fault)},
                   {"message", library.error().message},
                   {"remedy", library.error().remedy},
                   {"cards", count_cards("/sys/bus/pci/devices")}});
  return report(
      {{"usable", true}, {"driver", (*library)->version()}, {"gpus", (*library)->device_names()}});
}

}  // namespace orchid::executor
