#include "device_figures.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <utility>
#include <vector>

#include "checks.h"
#include "device_under_check.h"
#include "problems.h"
#include "ptx_folder.h"

namespace orchid::gpu_check {
namespace {

// As in gpu-bare.
constexpr int rounds = 5;
constexpr int small_rounds = 200;

constexpr KernelName store{checks_module, "store_item", 0};
constexpr KernelName idw{idw_module, IdwProblem::kernel, IdwProblem::group_size};
constexpr KernelName md5{md5_module, Md5Problem::kernel, Md5Problem::group_size};

using Step = std::function<Result<void>()>;

Result<double> time_of(const Step& step) {
  const auto begin = std::chrono::steady_clock::now();
  if (auto done = step(); !done) return fail(std::move(done.error()));
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
}

/// `warm`: once before, without being measured.
Result<double> median_of(int times, bool warm, const Step& step) {
  std::vector<double> all;
  for (int i = warm ? -1 : 0; i < times; ++i) {
    const auto time = time_of(step);
    if (!time) return time;
    if (i >= 0) all.push_back(*time);
  }
  return median(std::move(all));
}

/// Owned by one thread.
class Measurement {
 public:
  Measurement(DeviceUnderCheck& device, const ProblemSizes& sizes)
      : device_(device), sizes_(sizes), problem_(sizes.idw_rows), search_(sizes.md5_launches) {}

  Result<DeviceFigures> run(const std::filesystem::path& ptx) {
    const std::vector<std::function<Result<void>()>> steps{[&] { return load(ptx); },
                                                           [this] { return measure_launches(); },
                                                           [this] { return measure_copies(); },
                                                           [this] { return measure_idw(); },
                                                           [this] { return measure_idw_calls(); },
                                                           [this] { return measure_md5(); }};
    for (const auto& step : steps)
      if (auto done = step(); !done) return fail(std::move(done.error()));
    return figures_;
  }

 private:
  Result<void> load(const std::filesystem::path& ptx) {
    const auto of_idw = device_.load(idw_module, ptx / "idw.ptx");
    if (!of_idw) return fail(of_idw.error());
    const auto of_md5 = device_.load(md5_module, ptx / "md5search.ptx");
    if (!of_md5) return fail(of_md5.error());
    figures_.idw_load = static_cast<double>(of_idw->count());
    figures_.md5_load = static_cast<double>(of_md5->count());
    return {};
  }

  /// Ends the call, and says how it was.
  Result<void> keep(double& figure, Result<double> time) {
    if (!time) return fail(std::move(time.error()));
    figure = *time;
    return end_call();
  }
  Result<void> end_call() {
    const auto usage = device_.end_call();
    if (!usage) return fail(usage.error());
    figures_.pinned = std::max(figures_.pinned, static_cast<double>(usage->pinned));
    return {};
  }

  Result<void> measure_launches() {
    const auto word = device_.allocate(sizeof(std::uint64_t));
    if (!word) return fail(word.error());
    return keep(figures_.launch, median_of(small_rounds, true, [&]() -> Result<void> {
                  if (auto launched = device_.launch(store, one_address(*word), 1); !launched)
                    return launched;
                  return device_.wait();
                }));
  }

  Result<void> measure_copies() {
    const std::uint64_t bytes = sizes_.copy_bytes;
    const auto memory = device_.allocate(bytes);
    if (!memory) return fail(memory.error());
    // As a call's input and output, whose pages are there.
    std::ranges::fill(device_.input().first(bytes), std::byte{1});
    std::ranges::fill(device_.output().first(bytes), std::byte{2});
    const auto first = time_of([&] { return device_.write_input(*memory, bytes); });
    if (!first) return fail(first.error());
    figures_.first_to_device = *first;
    const auto there = median_of(rounds, true, [&] { return device_.write_input(*memory, bytes); });
    if (!there) return fail(there.error());
    figures_.to_device = *there;
    return keep(figures_.to_host,
                median_of(rounds, true, [&] { return device_.read_output(*memory, bytes); }));
  }

  struct IdwMemory {
    std::uint64_t stations = 0;
    std::uint64_t values = 0;
  };
  Result<IdwMemory> allocate_idw() {
    const auto stations = device_.allocate(problem_.stations().size());
    if (!stations) return fail(stations.error());
    const auto values = device_.allocate(problem_.value_bytes());
    if (!values) return fail(values.error());
    return IdwMemory{*stations, *values};
  }
  Result<void> run_idw(const IdwMemory& memory) {
    if (auto done = device_.write_input(memory.stations, problem_.stations().size()); !done)
      return done;
    const Arguments arguments = problem_.arguments(memory.stations, memory.values);
    if (auto done = device_.launch(idw, arguments, problem_.points()); !done) return done;
    if (auto done = device_.wait(); !done) return done;
    return device_.read_output(memory.values, problem_.value_bytes());
  }

  Result<void> measure_idw() {
    std::ranges::copy(problem_.stations(), device_.input().begin());
    const auto memory = allocate_idw();
    if (!memory) return fail(memory.error());
    auto kept = keep(figures_.idw, median_of(rounds, true, [&] { return run_idw(*memory); }));
    figures_.idw_checksum = checksum(device_.output().first(problem_.value_bytes()));
    return kept;
  }

  Result<void> measure_idw_calls() {
    const auto time = median_of(rounds, true, [this]() -> Result<void> {
      const auto memory = allocate_idw();
      if (!memory) return fail(memory.error());
      if (auto done = run_idw(*memory); !done) return done;
      return end_call();
    });
    if (!time) return fail(time.error());
    figures_.idw_call = *time;
    return {};
  }

  Result<void> measure_md5() {
    std::ranges::copy(search_.alphabet(), device_.input().begin());
    const auto letters = device_.allocate(search_.alphabet().size());
    if (!letters) return fail(letters.error());
    const auto found = device_.allocate(Md5Problem::items());
    if (!found) return fail(found.error());
    if (auto done = device_.write_input(*letters, search_.alphabet().size()); !done) return done;
    figures_.md5_is_right = true;
    for (std::uint32_t launch = 0; launch < search_.launches(); ++launch) {
      if (auto done = search(launch, *letters, *found); !done) return done;
      if (!search_.is_right(launch, device_.output().first(Md5Problem::items())))
        figures_.md5_is_right = false;
    }
    return keep(figures_.md5, median_of(rounds, true, [&]() -> Result<void> {
                  for (std::uint32_t launch = 0; launch < search_.launches(); ++launch)
                    if (auto done = search(launch, *letters, *found); !done) return done;
                  return {};
                }));
  }
  Result<void> search(std::uint32_t launch, std::uint64_t letters, std::uint64_t found) {
    const Arguments arguments = search_.arguments(launch, letters, found);
    if (auto done = device_.launch(md5, arguments, Md5Problem::items()); !done) return done;
    if (auto done = device_.wait(); !done) return done;
    return device_.read_output(found, Md5Problem::items());
  }

  DeviceUnderCheck& device_;
  ProblemSizes sizes_;
  IdwProblem problem_;
  Md5Problem search_;
  DeviceFigures figures_;
};

}  // namespace

Result<DeviceFigures> measure_device(const Bundle& bundle, const ProblemSizes& sizes) {
  const std::uint64_t largest =
      std::max({sizes.copy_bytes, small_slab,
                std::uint64_t{IdwProblem::columns} * sizes.idw_rows * sizeof(float)});
  auto device = start_ready(bundle, largest);
  if (!device) return fail(std::move(device.error()));
  const auto ptx = find_ptx_folder(bundle.folder / "ptx", (*device)->ready().architecture);
  auto figures = Measurement(**device, sizes).run(*ptx);
  if (figures) figures->start = static_cast<double>((*device)->start_time().count());
  if (auto gone = (*device)->kill(); !gone) return fail(std::move(gone.error()));
  return figures;
}

}  // namespace orchid::gpu_check
