#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <ranges>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "checks.h"
#include "foundation/files.h"
#include "foundation/numbers.h"
#include "opened_files.h"
#include "sandbox/confinement.h"

namespace orchid::gpu_check {
namespace {

constexpr const char* made_files =
    "device files that were not there before the driver's first call";
constexpr const char* all_opens = "files that the driver opens, and may not in the sandbox";
constexpr const char* all_descriptors = "descriptors of the device process that are not listed";
constexpr const char* all_limits = "limits of the device process that do not hold";
constexpr std::chrono::milliseconds watch_deadline{60'000};

/// Of the two stages of libs/sandbox.
constexpr unsigned long filters_of_sandbox = 2;

using Paths = std::vector<std::filesystem::path>;

bool is_beneath(std::string_view file, const std::filesystem::path& tree) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(tree, error);
  const std::string& folder = error ? tree.native() : real.native();
  return file == folder ||
         (file.starts_with(folder) && (folder.ends_with('/') || file[folder.size()] == '/'));
}

bool is_beneath_any(std::string_view file, const Paths& trees) {
  return std::ranges::any_of(trees, [file](const auto& tree) { return is_beneath(file, tree); });
}

bool may_be_opened(const OpenedFile& file, const executor::DeviceFiles& files) {
  if (is_beneath_any(file.path, files.devices)) return true;
  // The program's own part of /proc has another name for each program.
  if (file.path.starts_with("/proc/self/task/")) return true;
  return file.for_writing ? is_beneath_any(file.path, files.writable)
                          : is_beneath_any(file.path, files.readable);
}

/// "Seccomp_filters:	2" of a file of /proc; empty: there is no such line.
std::string field_of(const std::filesystem::path& file, std::string_view name) {
  const auto content = read_file(file, 64_KiB);
  if (!content) return {};
  for (const auto part : std::views::split(as_text(*content), '\n')) {
    const std::string_view line(part.begin(), part.end());
    if (!line.starts_with(name)) continue;
    const auto value = line.find_first_not_of(" \t:", name.size());
    return value == std::string_view::npos ? std::string() : std::string(line.substr(value));
  }
  return {};
}

/// 0 also where a kernel does not count them.
unsigned long filters_of(const std::filesystem::path& status) {
  return parse_number<unsigned long>(field_of(status, "Seccomp_filters")).value_or(0);
}

bool all_threads_are_filtered(const std::filesystem::path& process) {
  // A container has one already, for all of its processes.
  const unsigned long wanted = filters_of("/proc/self/status") + filters_of_sandbox;
  std::error_code error;
  std::size_t threads = 0;
  for (const auto& thread : std::filesystem::directory_iterator(process / "task", error)) {
    ++threads;
    const std::filesystem::path status = thread.path() / "status";
    const unsigned long filters = filters_of(status);
    if (field_of(status, "Seccomp") != "2" || (filters != 0 && filters < wanted)) return false;
  }
  return !error && threads != 0;
}

/// Those that do not hold.
std::vector<std::string> broken_limits(pid_t pid) {
  const std::filesystem::path process = "/proc/" + std::to_string(pid);
  const std::filesystem::path status = process / "status";
  const std::filesystem::path limits = process / "limits";
  const auto is_none = [](const std::string& capabilities) {
    return !capabilities.empty() && capabilities.find_first_not_of('0') == std::string::npos;
  };
  const auto is_limited = [&limits](std::string_view name) {
    const std::string value = field_of(limits, name);
    return !value.empty() && !value.starts_with("unlimited");
  };
  std::vector<std::string> broken;
  // Where the kernel has no Landlock, the sandbox does without.
  if (probe_sandbox_support().landlock_abi == 0)
    broken.emplace_back("files (this kernel has no Landlock)");
  if (field_of(status, "NoNewPrivs") != "1") broken.emplace_back("no_new_privs");
  if (!is_none(field_of(status, "CapEff"))) broken.emplace_back("no capabilities");
  if (!all_threads_are_filtered(process))
    broken.emplace_back("both filters of system calls in all threads");
  if (!is_limited("Max data size")) broken.emplace_back("memory");
  if (!is_limited("Max address space")) broken.emplace_back("address space");
  if (!field_of(limits, "Max core file size").starts_with('0')) broken.emplace_back("no core file");
  return broken;
}

/// Files that the process has open, and no list has.
Result<std::vector<std::string>> strange_descriptors(pid_t pid,
                                                     const executor::DeviceFiles& files) {
  std::vector<std::string> strange;
  std::error_code error;
  const std::filesystem::path folder = "/proc/" + std::to_string(pid) + "/fd";
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(entry.path(), gone);
    // Sockets, pipes, eventfds; memory files.
    if (gone || !target.starts_with('/') || target.starts_with("/memfd:")) continue;
    // Standard error goes where that of this program goes.
    if (target == "/dev/null" || entry.path().filename() == "2") continue;
    if (!is_beneath_any(target, files.devices) && !is_beneath_any(target, files.readable))
      strange.push_back(target);
  }
  if (error) return fail(ErrorCode::system, "reading " + folder.string() + ": " + error.message());
  return strange;
}

Row counted_row(const char* check, const std::vector<std::string>& found) {
  return {.check = check,
          .figure = std::to_string(found.size()),
          .target = "0",
          .verdict = found.empty() ? Verdict::met : Verdict::missed,
          .note = fmt::format("{}", fmt::join(found, ", "))};
}

}  // namespace

std::vector<std::filesystem::path> device_files_there(const Bundle& bundle) {
  std::vector<std::filesystem::path> there;
  std::error_code error;
  std::ranges::copy_if(bundle.files.devices, std::back_inserter(there),
                       [&](const auto& file) { return std::filesystem::exists(file, error); });
  std::ranges::sort(there);
  return there;
}

void check_device_files(const Bundle& bundle, const Paths& before, Results& results) {
  std::vector<std::string> made;
  for (const auto& file : device_files_there(bundle))
    if (!std::ranges::binary_search(before, file)) made.push_back(file.string());
  Row row = counted_row(made_files, made);
  if (!made.empty())
    row.note += "; let the machine make them when it starts: nvidia-modprobe -u -c0";
  results.add(std::move(row));
}

void check_sandbox(const Bundle& bundle, const DeviceUnderCheck& device, Results& results) {
  results.add(counted_row(all_limits, broken_limits(device.pid())));
  const auto strange = strange_descriptors(device.pid(), bundle.files);
  if (strange)
    results.add(counted_row(all_descriptors, *strange));
  else
    results.not_available(all_descriptors, "0", strange.error().message);
}

void check_opened_files(const Bundle& bundle, Results& results) {
  const auto opened = files_opened_by(bundle.bare_program({"open"}), watch_deadline);
  if (!opened) return results.not_available(all_opens, "0", opened.error().message);
  std::vector<std::string> refused;
  for (const OpenedFile& file : *opened)
    if (!is_beneath(file.path, bundle.folder) && !may_be_opened(file, bundle.files))
      refused.push_back(file.path + (file.for_writing ? " (written)" : ""));
  Row row = counted_row(all_opens, refused);
  row.figure = fmt::format("{} of {}", refused.size(), opened->size());
  results.add(std::move(row));
}

}  // namespace orchid::gpu_check
