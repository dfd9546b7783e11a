#include "bundle.h"

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include "processes/run_to_end.h"

namespace orchid::gpu_check {
namespace {

/// The largest problems of the slowest cards take seconds.
constexpr std::chrono::milliseconds bare_deadline{180'000};

}  // namespace

BareFigures::BareFigures(const std::string& printed) {
  std::istringstream lines(printed);
  for (std::string line; std::getline(lines, line);)
    if (const auto space = line.find(' '); space != std::string::npos)
      values_[line.substr(0, space)] = line.substr(space + 1);
}

Result<std::string> BareFigures::text(const std::string& name) const {
  const auto found = values_.find(name);
  if (found == values_.end())
    return fail(ErrorCode::not_found, "gpu-bare has not told its " + name);
  return found->second;
}

Result<double> BareFigures::number(const std::string& name) const {
  const auto value = text(name);
  if (!value) return fail(value.error());
  double number = 0;
  const auto [stop, error] = std::from_chars(value->data(), value->data() + value->size(), number);
  if (error != std::errc() || number < 0)
    return fail(ErrorCode::bad_request, "gpu-bare has told a " + name + " that is no number");
  return number;
}

Bundle Bundle::at(const std::filesystem::path& folder, const std::string& gpu) {
  const char* const libraries = std::getenv("LD_LIBRARY_PATH");
  return {.folder = folder,
          .gpu = gpu,
          .files = executor::device_files(gpu, "/proc/driver/nvidia/gpus",
                                          libraries == nullptr ? "" : libraries)};
}

processes::ProgramStart Bundle::bare_program(const std::vector<std::string>& task) const {
  std::vector<std::string> arguments{folder.string()};
  arguments.insert(arguments.end(), task.begin(), task.end());
  return {.program = folder / "bin/gpu-bare",
          .arguments = std::move(arguments),
          .environment = processes::environment_with({"CUDA_DEVICE_ORDER=PCI_BUS_ID",
                                                      "CUDA_VISIBLE_DEVICES=" + files.visible,
                                                      "CUDA_CACHE_DISABLE=1"}),
          .dies_with_us = true};
}

Result<BareFigures> run_bare(const Bundle& bundle, const std::vector<std::string>& task) {
  const auto ran = processes::run_to_end(bundle.bare_program(task), {.longest = bare_deadline});
  if (!ran) return fail(ran.error());
  if (!ran->end)
    return fail(ErrorCode::timed_out, "the bare driver's program has not ended within " +
                                          std::to_string(bare_deadline.count() / 1000) + " s");
  if (!ran->end->ok())
    return fail(ErrorCode::internal, ran->errors.empty()
                                         ? processes::describe(*ran->end)
                                         : ran->errors.substr(0, ran->errors.find('\n')));
  return BareFigures(ran->output);
}

}  // namespace orchid::gpu_check
