// gpu-check: plays executor and worker for orchid-device on a real card, and says in a table what
// that can. run.sh starts it.
#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bundle.h"
#include "checks.h"
#include "core_team.h"
#include "device/driver_environment.h"
#include "foundation/json_document.h"
#include "foundation/log.h"
#include "processes/run_to_end.h"
#include "results.h"

namespace orchid::gpu_check {
namespace {

constexpr int not_possible = 2;
constexpr const char* usage =
    "usage: gpu-check FOLDER [--gpu N] [--json FILE]   FOLDER: the bundle; N: as nvidia-smi "
    "counts\n"
    "exit status: 0 all targets are met, 1 one is missed, 2 there is nothing to check, 3 none is "
    "missed, and some could not be checked\n";
constexpr std::chrono::milliseconds probe_deadline{60'000};

struct Options {
  std::filesystem::path folder;
  std::string gpu = "0";
  std::filesystem::path json;
};

std::optional<Options> read_options(const std::vector<std::string>& words) {
  Options options;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool has_value = i + 1 < words.size();
    if (words[i] == "--gpu" && has_value)
      options.gpu = words[++i];
    else if (words[i] == "--json" && has_value)
      options.json = std::filesystem::absolute(words[++i]);
    else if (options.folder.empty() && !words[i].starts_with("-"))
      options.folder = words[i];
    else
      return std::nullopt;
  }
  if (options.folder.empty()) return std::nullopt;
  return options;
}

/// Nothing: there is a driver with a card. Otherwise why not, and what to do.
std::optional<std::string> what_is_missing(const Bundle& bundle) {
  const auto ran = processes::run_to_end({.program = bundle.device_program(),
                                          .arguments = {"--probe-driver"},
                                          .environment = executor::driver_environment(),
                                          .dies_with_us = true},
                                         {.longest = probe_deadline});
  if (!ran) return ran.error().message;
  if (!ran->end) return "the driver has not answered within 60 s; see the kernel's log (dmesg)";
  JsonDocument document(ran->output);
  const JsonObject root = document.root();
  const bool usable = root.flag("usable");
  const std::string message = root.optional().text("message");
  const std::string remedy = root.optional().text("remedy");
  if (auto read = document.finish(); !read)
    return "orchid-device does not run here: " + (ran->errors.empty() ? ran->output : ran->errors);
  if (usable) return std::nullopt;
  return message + "; " + remedy;
}

int run(const Options& options) {
  // The probe is the driver's first call, and not confined: it may load the kernel's modules and
  // make device files, which changes what the bundle knows of the card.
  const Bundle before = Bundle::at(options.folder, options.gpu);
  const auto files_before = device_files_there(before);
  if (const auto missing = what_is_missing(before)) {
    fmt::print(stderr, "gpu-check: there is nothing to check: {}\n", *missing);
    return not_possible;
  }
  const Bundle bundle = Bundle::at(options.folder, options.gpu);
  Results results;
  fmt::print(stderr, "checking GPU {}\n", options.gpu);
  check_device_files(bundle, files_before, results);
  check_opened_files(bundle, results);
  std::unique_ptr<DeviceUnderCheck> device = check_start(bundle, results);
  if (device) {
    const auto team = CoreTeam::load(bundle.folder / "lib");
    const executor::DeviceReady& ready = device->ready();
    results.set_subject({.model = ready.model,
                         .driver = ready.driver,
                         .architecture = ready.architecture,
                         .cores = team ? team->cores() : 0});
    check_sandbox(bundle, *device, results);
    check_stop(*device, results);
    check_next_tenant(bundle, std::move(device), results);
    check_against_bare_driver(bundle, results);
  }
  results.print();
  if (!options.json.empty())
    if (const auto written = results.write_json(options.json); !written) {
      fmt::print(stderr, "gpu-check: writing {}: {}\n", options.json.string(),
                 written.error().message);
      return 1;
    }
  return results.exit_status();
}

}  // namespace
}  // namespace orchid::gpu_check

int main(int argc, char** argv) {
  orchid::log::configure("gpu-check", orchid::LogLevel::warn);
  std::signal(SIGPIPE, SIG_IGN);
  const auto options = orchid::gpu_check::read_options({argv + 1, argv + argc});
  if (!options) {
    std::fputs(orchid::gpu_check::usage, stderr);
    return orchid::gpu_check::not_possible;
  }
  return orchid::gpu_check::run(*options);
}
